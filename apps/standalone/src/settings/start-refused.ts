/** The standalone cannot start, for a reason that the person at the terminal can do something about. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
}
