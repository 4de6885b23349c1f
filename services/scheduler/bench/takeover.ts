/**
 * How long a scheduler takes to lead with a full queue: one that stands by, and one that starts from a snapshot and the rest of the log. And how
 * long saving that snapshot keeps it from deciding.
 * `node scripts/run.mjs services/scheduler/bench/takeover.ts [runs] [slots] [organisations] [facts after the snapshot]`
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import process from 'node:process';
import { acceptMessage, type StoredMessage } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { executorId, newUuid } from '@runledger/contracts/ids';
import { lifecycleFilter, runEventSubject } from '@runledger/contracts/subjects/run-subjects';
import { aLogOnOwnBroker } from '@runledger/event-log/test/fixtures/test-log';
import { aRun, queued } from '@runledger/testing/events/run-events';
import { createScheduling, type Scheduling } from '../src/core/scheduling.ts';
import { loadState, saveState } from '../src/snapshot/stored-state.ts';

const RUNS = Number(process.argv[2] ?? 100_000);
const SLOTS = Number(process.argv[3] ?? 1_000);
const ORGANISATIONS = Number(process.argv[4] ?? 100);
const FACTS = Number(process.argv[5] ?? 2_000);
const SLOTS_OF_ONE = 8;
const NOW = '2026-01-01T00:00:00.000Z';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const digits = (): string => newUuid().replaceAll('-', '');

const deployments = Array.from({ length: ORGANISATIONS }, () => ({
  org_id: newUuid(),
  deployment_id: newUuid(),
}));

const message = (sequence: number): StoredMessage => {
  const { org_id, deployment_id } = deployments[sequence % ORGANISATIONS] as (typeof deployments)[number];
  const key = aRun(org_id);
  const event = {
    ...queued(key, { deployment_id, inputs: { seed: sequence } }),
    event_id: newUuid(),
    correlation_id: newUuid(),
    traceparent: `00-${digits()}-${digits().slice(16)}-01`,
  };
  return {
    subject: runEventSubject(event),
    sequence,
    time: new Date(Date.parse(NOW) + sequence).toISOString(),
    fence: lifecycleFilter(key),
    expectedSequence: 0,
    body: event,
  };
};

const aScheduling = (): Scheduling =>
  createScheduling({
    heartbeatPeriodMs: 6_000,
    cancelEnforceMs: 20_000,
    shareOf: () => ({ weight: 1, limit: Infinity }),
    instantOf: Date.parse,
  });

/** As a scheduler follows the log. */
const follow = (scheduling: Scheduling, messages: readonly StoredMessage[]): void => {
  for (const stored of messages) {
    const key = RUN_CHAIN.keyOf(stored.subject);
    const accepted = key && acceptMessage(RUN_CHAIN, scheduling.historyOf(key), stored);
    if (!key || accepted?.kind !== 'accepted')
      throw new Error(`a message is not accepted: ${JSON.stringify(accepted)}`);
    const { history, fact } = accepted;
    scheduling.take({ type: 'run_fact', key, history, event_id: fact.event.event_id, writer: 'gateway' });
  }
};

const ids = Array.from({ length: Math.ceil(SLOTS / SLOTS_OF_ONE) }, (_, n) => executorId(`box.${n}`));

const registerAll = (scheduling: Scheduling): void => {
  for (const [n, executor_id] of ids.entries()) {
    const slots = Array.from({ length: SLOTS_OF_ONE }, (_, slot) => ({ slot, gpu: 'A10G' as const }));
    const able = { machines: ['*'], programs: ['render-image'], dedicated: {} };
    const about = { version: 1, event_id: newUuid(), executor_id, time: NOW, software_version: '0' } as const;
    scheduling.take({
      type: 'fleet_fact',
      event: { type: 'ExecutorRegistered', ...about, slots, ...able, public_key: 'key' },
      sequence: n + 1,
      time: NOW,
      connectedMs: 0,
    });
  }
};

/** Takes the lead, and assigns a run to each slot as heartbeats come. */
const leadAndDecide = (scheduling: Scheduling): { readonly leadMs: number; readonly decideMs: number } => {
  const [leadMs] = timed(() => scheduling.take({ type: 'lead', connectedMs: 0 }));
  const [decideMs, decided] = timed(() =>
    ids.reduce((count, executor_id) => {
      const heartbeat = { executor_id, count: 1, draining: false, runs: [] };
      return count + scheduling.take({ type: 'heartbeat', heartbeat, time: NOW, connectedMs: 1 }).length;
    }, 0),
  );
  if (decided !== Math.min(ids.length * SLOTS_OF_ONE, RUNS)) throw new Error(`${decided} runs were assigned`);
  return { leadMs, decideMs };
};

const timed = <Of>(work: () => Of): [number, Of] => {
  const began = performance.now();
  const result = work();
  return [performance.now() - began, result];
};
const ms = (duration: number): string => `${duration.toFixed(1)} ms`;

await using test = await aLogOnOwnBroker();
const position = { stream: 'RUNS', created: NOW, sequence: RUNS, event_id: null } as const;
const scheduling = aScheduling();
registerAll(scheduling);
for (let sequence = 1; sequence <= RUNS; sequence += 1) follow(scheduling, [message(sequence)]);

const pauses = monitorEventLoopDelay({ resolution: 1 });
let frozenMs = 0;
const saving = performance.now();
pauses.enable();
await saveState(test.log, () => {
  const [duration, { kept, ...rows }] = timed(() => scheduling.freeze());
  frozenMs = duration;
  return { position, drains: { created: NOW, names: [] }, durations: [], runs: kept, ...rows };
});
pauses.disable();
const { bytes } = (await test.log.jsm.streams.info('OBJ_SNAPSHOTS')).state;
say(
  `${RUNS} queued runs of ${ORGANISATIONS} organisations are saved in ${ms(performance.now() - saving)}, ${Math.round(bytes / RUNS)} B for each; ` +
    `freezing them takes ${ms(frozenMs)}, and the longest pause is ${ms(pauses.max / 1e6)}`,
);

const standby = leadAndDecide(scheduling);
say(
  `a scheduler that stands by leads after ${ms(standby.leadMs)} and assigns ${SLOTS} runs in ${ms(standby.decideMs)}`,
);

const rest = Array.from({ length: FACTS }, (_, n) => message(RUNS + n + 1));
const starting = performance.now();
const loaded = await loadState(test.log);
if (loaded?.kind !== 'decoded') throw new Error(loaded?.why ?? 'there is no snapshot');
const loadedMs = performance.now() - starting;
const cold = aScheduling();
registerAll(cold);
const [restoredMs] = timed(() => cold.restore(loaded.rows));
const [followedMs] = timed(() => follow(cold, rest));
const { leadMs, decideMs } = leadAndDecide(cold);
say(
  `one that starts leads after ${ms(loadedMs + restoredMs + followedMs + leadMs)}: ${ms(loadedMs)} to load the snapshot, ${ms(restoredMs)} to index it, ` +
    `${ms(followedMs)} for ${FACTS} facts after it, ${ms(leadMs)} to lead; it assigns ${SLOTS} runs in ${ms(decideMs)}`,
);
