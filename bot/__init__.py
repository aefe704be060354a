"""Ascend CI: a GitHub App that governs CI on scarce Ascend NPUs."""
