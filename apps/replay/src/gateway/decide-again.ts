import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { isEnded, type Run } from '@runledger/contracts/fold/run';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import { requestCancel } from '@runledger/gateway/runs/facts/cancel.decide';
import { deletion, type Deletable } from '@runledger/gateway/runs/facts/delete.decide';
import { runExpired } from '@runledger/gateway/runs/facts/expiring.decide';
import { rerun } from '@runledger/gateway/runs/rerun.decide';
import { redeliver } from '@runledger/gateway/runs/redeliver.decide';
import type { FactOfGateway } from './decided.ts';

/** A run as a gateway knew it when it decided; for a run that is queued again, the one that it repeats. */
export interface DecidedOn {
  readonly run: Run;
  readonly webhook: Webhook | undefined;
}

/** That something of a run has left the log is no decision that a slice shows. */
type ComparedFact = Exclude<FactOfGateway, { readonly type: 'WebhookExpired' }>;

/** What a gateway stores now when it is asked for what the recorded fact shows; undefined for nothing. */
export const decideAgain = (
  { run, webhook }: DecidedOn,
  recorded: ComparedFact,
): ComparedFact | undefined => {
  const { event_id, org_id, run_id, time, writer, traceparent } = recorded;
  const envelope = { event_id, org_id, run_id, time, writer, traceparent };
  switch (recorded.type) {
    case 'RunQueued':
      return queuedAgain(run, recorded);
    case 'RunCancelRequested': {
      const decision = requestCancel(run, { user_id: recorded.data.user_id ?? '' }, envelope);
      return decision.kind === 'append' ? decision.event : undefined;
    }
    case 'RunOutputsDeleted':
    case 'RunDeleted': {
      const { user_id, key_id } = recorded.data;
      const listed = isEnded(run) ? (run.outputs ?? []) : [];
      const decision = deletion(WHAT[recorded.type], run, { webhook, listed }, { user_id, key_id }, envelope);
      return decision.kind === 'append' ? decision.event : undefined;
    }
    case 'RunExpired':
      return isEnded(run) ? undefined : runExpired(run, LOST, envelope);
    case 'WebhookRedeliveryRequested': {
      const decision = redeliver(run, webhook, recorded.data, envelope);
      return decision.kind === 'append' ? decision.event : undefined;
    }
  }
};

const WHAT: Readonly<Record<'RunOutputsDeleted' | 'RunDeleted', Deletable>> = {
  RunOutputsDeleted: 'outputs',
  RunDeleted: 'run',
};

/** The fact shows that the log has lost its beginning, or is about to. When it did is only said in the message. */
const LOST = { now: 0, maxAgeMs: Infinity, beginsAt: 0 };

/** With its deployment and its version there, as the fact shows, and with inputs that are not looked at. */
const queuedAgain = (origin: Run, recorded: RunEventOf<'RunQueued'>): RunEventOf<'RunQueued'> | undefined => {
  const { user_id, inputs, inputs_blob } = recorded.data;
  const facts = { deployment: { archived: false }, version: { inputs: [] } };
  const decision = rerun(origin, facts, { inputs: undefined, draw: ({ lowest }) => lowest, user_id });
  if (decision.kind === 'refused') return undefined;
  return { ...recorded, data: { ...decision.run.settings, inputs, inputs_blob } };
};
