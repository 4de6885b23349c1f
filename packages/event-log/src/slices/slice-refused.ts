/** Such a slice cannot be taken: the message says why, and what to do. */
export class SliceRefused extends Error {
  override readonly name = 'SliceRefused';
}
