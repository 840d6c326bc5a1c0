"""Writes a tiny model folder, tokenizer and configuration without weights, that
the mock worker accepts. usage: make_model.py DIR"""

import json
import os
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END = "<|endoftext|>"
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 2, "vocab_size": 600,
    "max_position_embeddings": 32768, "bos_token_id": 0, "eos_token_id": 0, "rms_norm_eps": 1e-5, "torch_dtype": "float16",
}
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 32768, "eos_token": END, "bos_token": END,
    "chat_template": "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: ",
}


def write(folder):
    os.makedirs(folder, exist_ok=True)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(["a small corpus of words to merge " * 50], trainer)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    for name, content in [
        ("config.json", CONFIG),
        ("tokenizer_config.json", TOKENIZER_CONFIG),
        ("generation_config.json", {"bos_token_id": 0, "eos_token_id": 0}),
    ]:
        with open(os.path.join(folder, name), "w") as f:
            json.dump(content, f)


if __name__ == "__main__":
    write(sys.argv[1])
