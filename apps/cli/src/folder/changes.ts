import { isDeepStrictEqual } from 'node:util';
import { counted } from '@runledger/contracts/events/fact-sentence';
import type { WorkflowVersion } from '@runledger/contracts/http/catalogue/workflows';
import { isJsonObject } from '@runledger/contracts/json';
import { asStored } from '../catalogue/plan-version.ts';
import { plain } from '../command/command-error.ts';
import type { Contents } from './archive.ts';

/** Names that are there now only, were there before only, and are there with something else. */
interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** How a folder differs from a version. */
export interface Changes {
  /** The number of the version; null for the first one. */
  readonly since: number | null;
  /** Null when the files of the version are lost. */
  readonly files: Difference | null;
  /** Members of the manifest. */
  readonly manifest: Difference;
  readonly inputs: Difference;
}

/** What a version is, as far as it is compared. */
export interface Compared {
  readonly contents: Contents;
  /** With the hash of the archive or without it. */
  readonly manifest: unknown;
  readonly inputs: readonly { readonly name: string }[];
}

/** `contents`: those of the version; undefined when they are lost. */
export const changesSince = (
  version: WorkflowVersion | undefined,
  contents: Contents | undefined,
  now: Compared,
): Changes => ({
  since: version?.number ?? null,
  files: contents === undefined ? null : difference(contents, now.contents),
  manifest: difference(membersOf(version?.code ? version.workflow : {}), membersOf(now.manifest)),
  inputs: difference(byName(version?.inputs ?? []), byName(now.inputs)),
});

const membersOf = (manifest: unknown): ReadonlyMap<string, unknown> =>
  new Map(
    Object.entries(isJsonObject(manifest) ? manifest : {}).filter(([member]) => member !== 'code_sha256'),
  );

const byName = (inputs: Compared['inputs']): ReadonlyMap<string, unknown> =>
  new Map(inputs.map((input) => [input.name, asStored(input)]));

const difference = (before: ReadonlyMap<string, unknown>, now: ReadonlyMap<string, unknown>): Difference => ({
  added: [...now.keys()].filter((name) => !before.has(name)),
  removed: [...before.keys()].filter((name) => !now.has(name)),
  changed: [...now.keys()].filter(
    (name) => before.has(name) && !isDeepStrictEqual(before.get(name), now.get(name)),
  ),
});

export const isSame = ({ since, files, manifest, inputs }: Changes): boolean =>
  since !== null &&
  [files, manifest, inputs].every(
    (one) => one !== null && Object.values(one).every(({ length }) => length === 0),
  );

/** For people. */
export const changeLines = (changes: Changes): string[] => {
  const { since, files, manifest, inputs } = changes;
  if (since === null) return [];
  if (isSame(changes)) return [`The code is that of version ${since}.`];
  return [
    `Changed since version ${since}:`,
    ...(files === null ? ['  its files are lost, so nobody knows which ones'] : lines(files, 'file')),
    ...lines(manifest, 'member'),
    ...lines(inputs, 'input'),
  ];
};

const SHOWN = 20;

const lines = (found: Difference, what: string): string[] =>
  Object.entries(found)
    .filter(([, names]) => names.length > 0)
    .map(([how, names]) => {
      const more = names.length > SHOWN ? `, and ${names.length - SHOWN} more` : '';
      return `  ${counted(names.length, what)} ${how}: ${plain(names.slice(0, SHOWN).join(', '))}${more}`;
    });
