/**
 * A program for `python3 -I -c`, 3.9 or later: reads `{source, function}` as JSON from standard input, and writes `{inputs}`, the definitions of the
 * inputs, or `{error, line}`, a text for people and where it is, or null. It never imports or executes the source.
 */
export { SIGNATURE_SCRIPT } from './generated/signature-script.ts';
