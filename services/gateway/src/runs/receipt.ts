import { isDeleted, isEnded, type Run } from '@runledger/contracts/fold/run';
import { parseRunEvent } from '@runledger/contracts/events/run-event';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { Receipt, ReceiptKeys } from '@runledger/contracts/http/receipts';
import { hashOf } from '@runledger/event-log/append/previous-hash';
import type { ArchivedPart } from '../archive/run-messages.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { notFoundRun, RunPath, runKeyOf } from './run-path.ts';

const receiptOperation = operation({
  id: 'getRunReceipt',
  method: 'GET',
  path: '/run/{run_id}/receipt',
  tag: 'Runs',
  summary: 'Get a receipt of a run',
  description:
    'Every lifecycle fact of the run as it is stored, signed. Each has the hash of the one before, so `runledger receipt check` proves without the service that the history is whole and unaltered. Secret inputs are in it as they are stored: encrypted.',
  scope: 'admin',
  request: { path: RunPath },
  response: { status: 200, description: 'The receipt.', body: Receipt },
  refusals: [404, 410],
});

const keysOperation = operation({
  id: 'listReceiptKeys',
  method: 'GET',
  path: '/receipt-keys',
  tag: 'Runs',
  summary: 'List the keys of receipts',
  description: 'The public keys with which this installation signs receipts, or has signed them.',
  scope: 'runs:read',
  request: {},
  response: { status: 200, description: 'The keys.', body: ReceiptKeys },
  refusals: [],
});

export const receiptRoutes = (
  { now }: Kit,
  { archive: { read, proveFacts }, current, receipts }: Runs,
): Route[] => [
  route(receiptOperation, async ({ path }, caller) => {
    const key = runKeyOf(path, caller);
    const found = await current(key);
    if (found.kind !== 'found') throw notFoundRun(found);
    const { life = [], archived = [] } = (await read(key)) ?? {};
    const withheld = withheldHashes(archived);
    if (life[0]?.expectedSequence !== 0) throw new Refused({ code: 'run_history_expired', why: FORGOTTEN });
    const receipt = {
      format: 1 as const,
      ...key,
      issued_at: now().toISOString(),
      facts: life.map((message) => receiptFact(message, found.run, withheld)),
    };
    return receipts.sign(receipt, await proveFacts(key, archived));
  }),
  route(keysOperation, async () => ({ keys: [...receipts.publicKeys] })),
];

const FORGOTTEN =
  'Neither the log nor the archive has the beginning of this run: the log keeps facts for 7 days by default, and the archive, where there is one, for as long as the run';

/** Of what the archive does not have any more, by position. */
const withheldHashes = (archived: readonly ArchivedPart[]): ReadonlyMap<number, string> =>
  new Map(
    archived.flatMap(({ lines }) =>
      lines.flatMap(({ sequence, withheld }) =>
        withheld === undefined ? [] : [[sequence, withheld] as const],
      ),
    ),
  );

const receiptFact = (
  message: StoredMessage,
  now: Run,
  withheld: ReadonlyMap<number, string>,
): Receipt['facts'][number] => {
  const { sequence, time, subject, expectedSequence, data = new Uint8Array() } = message;
  return {
    sequence,
    time,
    subject,
    follows: expectedSequence ?? 0,
    content: isWithheld(message, now) ? null : new TextDecoder().decode(data),
    sha256: (message.data ? undefined : withheld.get(sequence)) ?? hashOf(data),
  };
};

/** Nobody is shown outputs that were deleted. Its hash keeps its place. */
const isWithheld = ({ body }: StoredMessage, now: Run): boolean => {
  if (isDeleted(now) || !isEnded(now) || now.deleted_outputs === null) return false;
  const parsed = parseRunEvent(body);
  return parsed.kind === 'event' && 'outputs' in parsed.event.data;
};
