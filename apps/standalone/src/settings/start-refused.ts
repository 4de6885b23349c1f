/** The standalone cannot start. The message says what the person at the terminal can do. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
}
