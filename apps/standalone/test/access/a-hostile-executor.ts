import { executorId } from '@runledger/contracts/ids';
import { append } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { ALL_STREAMS } from '@runledger/event-log/provision/provision';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { aRun, queued } from '@runledger/testing/run-events';
import { Type } from 'typebox';
import { aGuardedBroker, type GuardedBroker } from './a-guarded-broker.ts';

export const A = executorId('a.000000000001');
export const B = executorId('b.000000000001');
export const key = aRun();
/** A fact that the executor may store. */
export const OWN_FACT = `runs.${key.org_id}.${key.run_id}.life.started.executor.1.${A}`;
export const API = '$JS.RUNLEDGER.API';

/** A broker with a run and records, and an executor that tries to reach more than its permissions allow. */
export interface HostileExecutor extends AsyncDisposable {
  readonly broker: GuardedBroker;
  readonly executor: EventLog;
  /** The last sequence and the number of messages of every stream. */
  held(): Promise<Record<string, string>>;
}

export const aHostileExecutor = async (): Promise<HostileExecutor> => {
  await using opened = new AsyncDisposableStack();
  const broker = opened.use(await aGuardedBroker());
  const executor = await broker.open('executor-a');
  const gateway = await broker.open('gateway');
  await openBucket(gateway, 'CATALOGUE', Type.String()).put('kept', 'kept');
  await openBucket(gateway, 'KEYS', Type.String()).put('kept', 'kept');
  await append(gateway, queued(key), 0);
  await executor.js.publish(OWN_FACT, '');
  const kept = opened.move();
  return {
    broker,
    executor,
    held: async () => {
      const entries = await Promise.all(
        ALL_STREAMS.map(async (name) => {
          const { state } = await broker.operator.jsm.streams.info(name);
          return [name, `${state.messages} up to ${state.last_seq}`] as const;
        }),
      );
      return Object.fromEntries(entries);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

/** Waits until the broker has handled all requests of this connection. */
export const settled = async ({ operator }: GuardedBroker, log: EventLog): Promise<void> => {
  await log.nc.flush();
  await operator.nc.flush();
};
