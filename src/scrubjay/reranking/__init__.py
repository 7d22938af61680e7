"""Cross-encoders that put the best hits in a better order. There is none unless the settings choose one."""
