/** A later release wrote a fact of the slice: no decision without it can be compared. */
export class NewerFact extends Error {
  override readonly name = 'NewerFact';

  constructor({
    type,
    version,
    sequence,
  }: {
    readonly type: string;
    readonly version: number;
    readonly sequence: number;
  }) {
    super(
      `A later release wrote ${type} in version ${version}, at position ${sequence}. Use that release of this command.`,
    );
  }
}
