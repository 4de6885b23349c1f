import type { Exchange } from '../clients/client-records.ts';
import type { Check, Evidence } from '../evidence/evidence.ts';
import { refusalOf } from '../clients/client-context.ts';
import { forgottenBefore } from '../evidence/logged-run.ts';
import { isLimited } from '../faults/limit-changes.ts';

const guarantee = 'A valid request is answered, or refused for a while with the reason.';

export const refusals: Check = (evidence) =>
  evidence.records.exchanges.flatMap((exchange) => {
    if (exchange.answer.kind !== 'refused' || isExplained(exchange, exchange.answer, evidence)) return [];
    const { gateway, kind, run, answer } = exchange;
    const message = `${gateway} answered ${kind} with ${answer.status}: ${answer.why}`;
    return [{ guarantee, run, message }];
  });

/** A key that is taken, a run that has not ended or is not notified, and a record that is in use. */
const HAVE_CONFLICTS: ReadonlySet<Exchange['kind']> = new Set([
  'foreign',
  'queue_other',
  'queue_deleted',
  'delete_run',
  'delete_outputs',
  'delete_record',
]);

const OK = 200;

/** Other checks are about 404, about what strangers send, and about answers behind a deletion. */
const isExplained = (
  { kind, run, sentAt, seenAt }: Exchange,
  answer: Extract<Exchange['answer'], { kind: 'refused' }>,
  { limits, runs, size }: Evidence,
): boolean => {
  const span = { from: sentAt, to: seenAt };
  switch (refusalOf(answer)) {
    case 'not found':
    case 'unavailable':
    // Those whose clients gave up while the gateway was paused are among them.
    case 'too many uploads':
      return true;
    case 'OUTPUTS is full':
      return isLimited(limits, ['full'], span, 'OBJ_OUTPUTS');
    case 'a store is full':
      return isLimited(limits, ['full'], span);
    case 'no room in RUNS':
      return isLimited(limits, ['full', 'nearly_full'], span, 'RUNS');
    case 'BLOBS is full':
      return isLimited(limits, ['full'], span, 'BLOBS');
    case 'WORKFLOWS is full':
      return isLimited(limits, ['full'], span, 'WORKFLOWS');
    case 'outlives the log':
      return isLimited(limits, ['forgetful'], span);
    case 'conflict':
      if (kind !== 'redeliver') return HAVE_CONFLICTS.has(kind);
      // The log no longer has what it would deliver again.
      return Date.parse(runs.get(run ?? '')?.facts[0]?.time ?? '') < forgottenBefore(limits, size);
    case 'over quota':
      return kind === 'foreign';
    case 'other':
      return kind === 'foreign' || (kind === 'after_deletion' && answer.status === OK);
  }
};
