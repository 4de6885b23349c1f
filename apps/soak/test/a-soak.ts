import type { RunFactEvent } from '@runledger/contracts/http/run-events';
import type { StoredMessage } from '@runledger/contracts/history';
import type { RunEvent } from '@runledger/contracts/run-event';
import {
  lifecycleOf,
  subjectOf,
  webhookOf,
  webhookSubjectOf,
  type RunKey,
} from '@runledger/contracts/subjects';
import type { WebhookEvent } from '@runledger/contracts/webhook-event';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import type { Evidence } from '../src/evidence/evidence.ts';
import { foldRuns } from '../src/evidence/logged-run.ts';
import type { Exchange, Received, ShownRun, ToldFact } from '../src/evidence/records.ts';

/** When the soaks of these tests began. */
export const BEGUN_AT = Date.parse('2026-01-01T00:00:00.000Z');
const FACT_EVERY_MS = 1_000;
const GATEWAY = 'http://127.0.0.1:1/api';
const WEBHOOK = 'http://127.0.0.1:2/hook/1';

export const RUN: RunKey = aRun();

/** Messages as the broker stores them: one a second, the n-th of all has the sequence n. */
export const stored = (events: readonly (RunEvent | WebhookEvent)[]): StoredMessage[] => {
  const heads = new Map<string, number>();
  return events.map((event, at) => {
    const key = { org_id: RUN.org_id, run_id: RUN.run_id };
    const isWebhook = 'round' in event;
    const fence = isWebhook ? webhookOf(key) : lifecycleOf(key);
    const expectedSequence = heads.get(fence) ?? 0;
    heads.set(fence, at + 1);
    return {
      subject: isWebhook ? webhookSubjectOf(event) : subjectOf(event),
      sequence: at + 1,
      time: new Date(BEGUN_AT + (at + 1) * FACT_EVERY_MS).toISOString(),
      fence,
      expectedSequence,
      body: event,
    };
  });
};

export const INPUTS = { what: 'success', seconds: '0.1', request: 1 };
export const queuedRun = (): RunEvent => queued(RUN, { inputs: INPUTS, webhook: WEBHOOK });

const output = (text: string) => ({
  id: '01920000-0000-7000-8000-000000000009',
  output_id: 'o',
  node_id: null,
  node_meta: null,
  type: null,
  data: { text: [text] },
});
export const succeededAs = (text = `${RUN.run_id}.1`): RunEvent => succeeded(RUN, [output(text)]);

/** A run that was queued (1), assigned (2), started (3), ended (4) and told (5). */
export const EVENTS = [queuedRun(), assigned(RUN), started(RUN), succeededAs(), webhookDelivered(RUN)];

/** So many seconds after the beginning: a fact is stored at each whole one. */
export const second = (seconds: number): number => BEGUN_AT + seconds * 1_000;

/** What GET says once the n-th fact of the run's lifecycle is there. */
export const shownAfter = (facts: 1 | 2 | 3 | 4): ShownRun => ({
  status: (['queued', 'started', 'running', 'success'] as const)[facts - 1] ?? 'queued',
  updated_at: new Date(second(facts)).toISOString(),
  created_at: new Date(second(1)).toISOString(),
  started_at: facts >= 3 ? new Date(second(3)).toISOString() : null,
  ended_at: facts === 4 ? new Date(second(4)).toISOString() : null,
  number: 1,
  compute_function_call_id: facts >= 2 ? `${RUN.run_id}.1` : null,
  webhook_status: 'not-started',
  finished: facts === 4,
  end_reason: facts === 4 ? 'completed' : null,
  rerun_of: null,
  texts: facts === 4 ? [`${RUN.run_id}.1`] : [],
});

/** An exchange that took a tenth of a second. */
export const exchange = (at: number, answer: Exchange['answer'], more: Partial<Exchange> = {}): Exchange => ({
  asked: 'get',
  request: 1,
  run: RUN.run_id,
  key: null,
  gateway: GATEWAY,
  sentAt: second(at),
  seenAt: second(at + 0.1),
  answer,
  ...more,
});

export const wasQueued = (at: number, run: string = RUN.run_id): Exchange =>
  exchange(at, { kind: 'queued', run }, { asked: 'queue', run: null, key: 'soak-1' });

export const wasShown = (at: number, facts: 1 | 2 | 3 | 4, more: Partial<ShownRun> = {}): Exchange =>
  exchange(at, { kind: 'shown', shown: { ...shownAfter(facts), ...more } });

/** What a stream tells of the run's facts, in its order. */
export const toldFacts = (...sequences: readonly (1 | 2 | 3 | 4)[]): ToldFact[] =>
  sequences.map((sequence) => {
    const { status, finished } = shownAfter(sequence);
    const type = EVENTS[sequence - 1]?.type ?? null;
    const time = new Date(second(sequence)).toISOString();
    const fact: RunFactEvent = {
      sequence,
      type,
      time,
      status,
      finished,
      attempt: 1,
      live_status: null,
      progress: 0,
      end_reason: null,
    };
    return { at: second(sequence + 0.5), id: String(sequence), fact };
  });

export const arrived = (at: number, sequence: 1 | 2 | 3 | 4, answered: number | null = 200): Received => ({
  at: second(at),
  webhookId: sequence === 4 ? 'final' : `state-${sequence}`,
  answered,
  payload: {
    run_id: RUN.run_id,
    status: shownAfter(sequence).status,
    live_status: null,
    progress: 0,
    outputs: [],
    sequence,
    finished: sequence === 4,
    end_reason: sequence === 4 ? 'completed' : null,
  },
});

/** A soak of one run in which everything was as it should be; a test changes what it is about. */
export const aSoak = ({
  events = EVENTS,
  records = {},
  ...more
}: Partial<Omit<Evidence, 'records'>> & {
  readonly events?: readonly (RunEvent | WebhookEvent)[];
  readonly records?: Partial<Evidence['records']>;
} = {}): Evidence => {
  const shown = { ...shownAfter(4), webhook_status: 'success' as const };
  const seen = [{ run: RUN.run_id, shown }];
  return {
    plans: [
      {
        request: 1,
        at: 0,
        deployment: 'plain',
        gpu: null,
        work: { what: 'success', seconds: '0.1' },
        key: 'soak-1',
        impatientAfter: null,
        webhook: 'final',
        watch: 'looks',
        cancelAfter: null,
        rerun: false,
      },
    ],
    records: {
      exchanges: [wasQueued(1.1), wasShown(1.5, 1), wasShown(3.5, 3), wasShown(4.5, 4)],
      streams: [{ run: RUN.run_id, told: toldFacts(1, 2, 3, 4), connections: [], complete: true }],
      received: [arrived(4.7, 4)],
      ...records,
    },
    runs: foldRuns(stored(events)),
    vanished: [],
    shown: [{ gateway: GATEWAY, listed: seen, read: seen }],
    diary: [{ run: RUN.run_id, attempt: 1 }],
    parked: [],
    troubles: { troubles: [], stops: [], surprises: [] },
    size: { cancelEnforceS: 8, heartbeatPeriodS: 3 },
    ...more,
  };
};
