import type { Newer } from '@runledger/event-log/migrate/go-back';
import type { StreamProof } from '@runledger/event-log/migrate/migrate';
import type { Screen } from '../../output/screen.ts';
import { printTable, type Column } from '../../output/table.ts';

export interface Urls {
  readonly from: string;
  readonly to: string;
}

/** What an operator should know before the copy begins. */
export const printWarnings = (screen: Screen, { from, to }: Urls): void => {
  for (const line of [
    `The log moves from ${from} to ${to}.`,
    'While it is copied, the old broker takes no messages: clients get 503. It keeps all its data.',
    'Two things delete data, and cannot be taken back:',
    '- a cluster block in the configuration of the old broker: half a minute after it has joined, it deletes all its streams;',
    '- a new broker that is started with the data folder of the old one: it does the same. Each needs an empty folder.',
  ])
    screen.hint(line);
};

const DIGEST_SHOWN = 16;

const columns = (proofs: readonly StreamProof[]): readonly Column<StreamProof>[] => [
  {
    title: 'STREAM',
    width: Math.max(...proofs.map(({ stream }) => stream.length)),
    of: ({ stream }) => stream,
  },
  { title: 'MESSAGES', width: 8, of: ({ messages }) => String(messages) },
  { title: 'FIRST', width: 8, of: ({ firstSequence }) => String(firstSequence) },
  { title: 'LAST', width: 8, of: ({ lastSequence }) => String(lastSequence) },
  { title: 'OLD SHA-256', width: DIGEST_SHOWN, of: ({ digest }) => digest.source.slice(0, DIGEST_SHOWN) },
  { title: 'NEW SHA-256', width: DIGEST_SHOWN, of: ({ digest }) => digest.target.slice(0, DIGEST_SHOWN) },
  { title: 'RESULT', width: 0, of: ({ problem }) => problem ?? 'equal' },
];

export const printProof = (screen: Screen, proofs: readonly StreamProof[], json: boolean): void => {
  if (json) for (const proof of proofs) screen.printJson(jsonOf(proof));
  else printTable(screen, columns(proofs), { items: proofs, json });
};

const jsonOf = ({
  stream,
  messages,
  firstSequence,
  lastSequence,
  ended,
  digest,
  problem,
}: StreamProof): object => ({
  stream,
  messages,
  first_sequence: firstSequence,
  last_sequence: lastSequence,
  expired_meanwhile: ended,
  old_sha256: digest.source,
  new_sha256: digest.target,
  problem: problem ?? null,
});

export const printMoved = (
  screen: Screen,
  {
    proofs,
    urls,
    json,
  }: { readonly proofs: readonly StreamProof[]; readonly urls: Urls; readonly json: boolean },
): void => {
  if (proofs.length > 0) printProof(screen, proofs, json);
  if (json) {
    if (proofs.length === 0) screen.printJson({ moved: 'before' });
    return;
  }
  screen.print(
    proofs.length > 0
      ? 'The log has moved: both have the same messages in every stream.'
      : 'The log had moved before, and the new brokers are in use. Nothing was copied.',
  );
  for (const line of [
    '',
    'What to do next:',
    `- start all services with NATS_URL=${urls.to}`,
    '- leave the old broker as it is. No service can write to it, and you can go back: runledger cluster migrate --back',
    '- when all works, end that: runledger cluster migrate --confirm. Then stop the old broker, and delete its data folder.',
  ])
    screen.hint(line);
};

export const printBack = (screen: Screen, lost: readonly Newer[], json: boolean): void => {
  if (json) {
    screen.printJson({ back: true, lost });
    return;
  }
  screen.print('The log is back at the old broker. The new brokers take no messages.');
  if (lost.length > 0)
    screen.print(
      `Lost: ${lost.map(({ stream, messages }) => `${messages} messages of ${stream}`).join(', ')}.`,
    );
  screen.hint('Start all services with the NATS_URL of the old broker.');
};

export const printConfirmed = (screen: Screen, json: boolean): void => {
  if (json) {
    screen.printJson({ confirmed: true });
    return;
  }
  screen.print('The move is confirmed: the log is at the new brokers only.');
  screen.hint('Stop the old broker, and delete its data folder.');
};
