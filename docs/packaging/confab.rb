# A Homebrew formula: brew install --build-from-source ./docs/packaging/confab.rb
#
# Builds the newest commit of `main`; a release gives `url` and `sha256` of its
# archive instead of `head`.
class Confab < Formula
  desc "Debugger for the prompts of local language models, in the terminal"
  license "MIT"
  head "file://#{File.expand_path("../..", __dir__)}", using: :git, branch: "main"

  depends_on "pkgconf" => :build
  depends_on "jansson"
  depends_on "jpeg-turbo"
  depends_on "libmicrohttpd"
  depends_on "libpng"
  depends_on "libsndfile"
  depends_on "libsoxr"
  depends_on "libyaml"
  depends_on "ncurses"
  depends_on "nettle"
  depends_on "openblas"
  depends_on "pcre2"
  depends_on "utf8proc"
  depends_on "webp"
  uses_from_macos "curl"
  uses_from_macos "sqlite"
  uses_from_macos "zlib"

  def install
    system "make", "-j#{ENV.make_jobs}", "install", "PREFIX=#{prefix}",
           "MANDIR=#{man}"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/confab version")
    assert_match "confab", shell_output("#{bin}/confab run -m bundled 'Who are you?'")
  end
end
