"""Cross-encoders that reorder the best hits; none is used unless the settings name one."""
