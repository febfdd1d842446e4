from tests.number_words_model import model, pairs, tokenizer

__all__ = ["model", "pairs", "tokenizer"]
