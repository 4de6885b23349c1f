import { within } from '@runledger/resilience/within';
import type { Command } from 'commander';
import type { Client } from '../api-client/client.ts';
import type { Environment } from '../api-client/connection.ts';
import type { Screen } from '../output/screen.ts';
import { recordCandidates } from './records.ts';
import { wantedAt, type Candidate, type Wanted } from './wanted.ts';

/** Whoever presses a key waits for no slow server. */
const ANSWER_WITHIN_MS = 1_000;

interface Completion {
  readonly program: Command;
  readonly client: () => Promise<Client>;
  readonly screen: Screen;
  readonly env: Environment;
}

/** Prints what may come next, as the scripts of the shells read it. False when a server did not answer in time, or refused. */
export const complete = async (
  { program, client, screen, env }: Completion,
  words: readonly string[],
): Promise<boolean> => {
  const wanted = wantedAt(program, words);
  if (wanted.kind === 'files') {
    screen.print('files');
    return true;
  }
  const candidates = await candidatesOf(wanted, { client, env });
  screen.print('words');
  // Candidates of a server come from people.
  for (const { word, note } of candidates ?? []) if (!/[\t\n]/.test(word)) screen.print(`${word}\t${note}`);
  return candidates !== undefined;
};

const candidatesOf = async (
  wanted: Exclude<Wanted, { kind: 'files' }>,
  sources: Pick<Completion, 'client' | 'env'>,
): Promise<readonly Candidate[] | undefined> => {
  if (wanted.kind === 'words') return wanted.candidates;
  try {
    return await within(ANSWER_WITHIN_MS, recordCandidates(sources, wanted), () => {
      throw new Error('The server is too slow.');
    });
  } catch {
    return undefined;
  }
};

/** What `--context` names in the words so far. */
export const contextIn = (words: readonly string[]): string | undefined => {
  const at = words.lastIndexOf('--context', -2);
  const assigned = words.slice(0, -1).findLast((word) => word.startsWith('--context='));
  return at === -1 ? assigned?.slice('--context='.length) : words[at + 1];
};
