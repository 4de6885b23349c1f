import { compiledSchema } from '@runledger/contracts/compiled-schema';
import {
  CONTENT_KINDS,
  MAX_MASKS,
  Masks,
  type ContentKind,
  type SliceContent,
} from '@runledger/contracts/slices/content';
import type { ReadJsonFile } from '../../options/json-files.ts';
import { CommandError } from '../../output/command-error.ts';
import { plain } from '../../output/plain-text.ts';

export interface ContentOptions {
  readonly keep?: string;
  readonly mask?: string;
}

// The keys of a literal are its names.
const KINDS = Object.keys(CONTENT_KINDS) as ContentKind[];
const isKind = (word: string): word is ContentKind => Object.hasOwn(CONTENT_KINDS, word);

const KINDS_IN_WORDS = KINDS.map((kind) => `\n  ${kind.padEnd(13)} ${CONTENT_KINDS[kind]}`).join('');

/** Which content a slice has. @throws {CommandError} */
export const contentOf = async (
  { keep = '', mask }: ContentOptions,
  readJsonFile: ReadJsonFile,
): Promise<SliceContent> => {
  const kept = kindsOf(keep);
  if (mask === undefined) return { kept, masked: {} };
  const masked = masksOf(mask, await readJsonFile('--mask', mask));
  for (const kind of ['inputs', 'outputs'] as const)
    if ((masked[kind] ?? []).length > 0 && !kept.includes(kind))
      throw new CommandError(
        `--mask ${plain(mask)} replaces parts of ${kind}, which this slice does not have at all. Add --keep ${kind}, or leave them out of the file.`,
      );
  return { kept, masked };
};

const kindsOf = (keep: string): ContentKind[] => {
  const words = keep
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 1 && words[0] === 'all') return [...KINDS];
  const unknown = words.find((word) => !isKind(word));
  if (unknown !== undefined)
    throw new CommandError(
      `--keep ${plain(unknown)} is no kind of content. Name kinds with commas, or "all" alone:${KINDS_IN_WORDS}`,
    );
  return KINDS.filter((kind) => words.includes(kind));
};

const MasksCheck = compiledSchema(Masks);

const masksOf = (file: string, value: unknown): Masks => {
  if (MasksCheck.Check(value)) return value;
  const [first] = MasksCheck.Errors(value);
  throw new CommandError(
    `--mask ${plain(file)}: ${plain(`${first?.instancePath ?? ''} ${first?.message ?? ''}`.trim())}. It must be as {"inputs": ["/prompt"], "outputs": ["/data/text", "/node_meta/title"]}: JSON pointers, at most ${MAX_MASKS} of each, ` +
      'those of outputs to /data, a kind of it or an item of that, or into /node_meta. A step * is every one.',
  );
};
