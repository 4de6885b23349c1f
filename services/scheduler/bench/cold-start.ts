/** The process of the bench of takeovers that starts from a snapshot and the rest of the log. */
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { openEventLog, type BrokerSettings } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { loadState } from '../src/snapshot/snapshot-store.ts';
import { aScheduling, follow, leadAndDecide, message, timed, type QueueOwner } from './full-queue.ts';

/** What it needs of the process that saved the snapshot. */
export interface ColdStart {
  readonly broker: Omit<BrokerSettings, 'name'>;
  readonly owners: readonly QueueOwner[];
  readonly executors: readonly string[];
  readonly runs: number;
  readonly facts: number;
}

const ms = (duration: number): string => `${duration.toFixed(1)} ms`;

const [task] = (await once(process, 'message')) as [ColdStart];
const { owners, executors, runs, facts } = task;
await using log = await openEventLog({ ...task.broker, name: 'bench' }, silentLogger);
const rest = Array.from({ length: facts }, (_, n) => message(owners, runs + n + 1));
const scheduling = aScheduling(executors);

const cpu = process.cpuUsage();
const starting = performance.now();
const loaded = await loadState(log);
if (loaded?.kind !== 'decoded') throw new Error(loaded?.why ?? 'there is no snapshot');
const loadedMs = performance.now() - starting;
const [restoredMs] = timed(() => scheduling.restore(loaded.rows));
const [followedMs] = timed(() => {
  for (const stored of rest) follow(scheduling, stored);
});
const { user, system } = process.cpuUsage(cpu);
const { leadMs, decideMs, decided } = leadAndDecide(scheduling, executors);
process.stdout.write(
  `a process that starts leads after ${ms(loadedMs + restoredMs + followedMs + leadMs)}: ${ms(loadedMs)} to load the snapshot, ` +
    `${ms(restoredMs)} to index it, ${ms(followedMs)} for ${facts} facts after it, ${ms(leadMs)} to lead; it uses the processors for ` +
    `${ms((user + system) / 1_000)} until then, and assigns ${decided} runs in ${ms(decideMs)}\n`,
);
process.disconnect();
