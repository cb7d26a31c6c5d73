"""The formats of exports, a module each; `registry` lists them."""
