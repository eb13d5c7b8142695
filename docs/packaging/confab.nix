# A Nix package: nix-build docs/packaging/confab.nix
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  pname = "confab";
  version = "0.1.0";
  src = pkgs.lib.cleanSource ../..;

  nativeBuildInputs = [ pkgs.pkg-config ];
  buildInputs = with pkgs; [
    curl
    jansson
    libjpeg
    libmicrohttpd
    libpng
    libwebp
    libyaml
    libsndfile
    soxr
    ncurses
    nettle
    pcre2
    sqlite
    utf8proc
    zlib
  ];

  enableParallelBuilding = true;
  makeFlags = [ "PREFIX=$(out)" ];
  # The tests want tmux, python3, cmocka and a terminal.
  doCheck = false;

  meta = {
    description = "Debugger for the prompts of local language models";
    license = pkgs.lib.licenses.mit;
    platforms = pkgs.lib.platforms.linux;
    mainProgram = "confab";
  };
}
