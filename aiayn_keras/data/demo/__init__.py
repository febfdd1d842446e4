"""The demo language: English sentences and their German translations, made by a grammar."""
