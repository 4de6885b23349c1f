/**
 * How long a scheduler takes to lead with a full queue: one that stands by, and a process that starts from a snapshot and the rest of the
 * log. And how long saving that snapshot keeps it from deciding.
 * `node scripts/run.mjs services/scheduler/bench/takeover.ts [runs] [slots] [organisations] [facts after the snapshot] [starts]`
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import process from 'node:process';
import { newUuid } from '@runledger/contracts/ids';
import { aLogOnOwnBroker } from '@runledger/event-log/test/fixtures/test-log';
import { saveState } from '../src/snapshot/snapshot-store.ts';
import type { ColdStart } from './cold-start.ts';
import { aScheduling, executorIds, follow, leadAndDecide, message, NOW, timed } from './full-queue.ts';

const RUNS = Number(process.argv[2] ?? 100_000);
const SLOTS = Number(process.argv[3] ?? 1_000);
const ORGANISATIONS = Number(process.argv[4] ?? 100);
const FACTS = Number(process.argv[5] ?? 2_000);
const STARTS = Number(process.argv[6] ?? 3);

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const ms = (duration: number): string => `${duration.toFixed(1)} ms`;

const owners = Array.from({ length: ORGANISATIONS }, () => ({ org_id: newUuid(), deployment_id: newUuid() }));
const executors = executorIds(SLOTS);

await using test = await aLogOnOwnBroker();
const position = { stream: 'RUNS', created: NOW, sequence: RUNS, event_id: null } as const;
const scheduling = aScheduling(executors);
for (let sequence = 1; sequence <= RUNS; sequence += 1) follow(scheduling, message(owners, sequence));

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

const standby = leadAndDecide(scheduling, executors);
say(
  `a scheduler that stands by leads after ${ms(standby.leadMs)} and assigns ${standby.decided} runs in ${ms(standby.decideMs)}`,
);

for (let start = 0; start < STARTS; start += 1) {
  const child = fork(new URL('cold-start.ts', import.meta.url));
  const { url, login } = test.nats;
  const task: ColdStart = { broker: { ...login, url }, owners, executors, runs: RUNS, facts: FACTS };
  child.send(task);
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the process that starts ended with ${code}`);
}
