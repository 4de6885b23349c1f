import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { processorTime, quantile } from '@runledger/testing/measuring';
import { waitFor } from '@runledger/testing/wait-for';
import { openBareLog, type BareLogRequest } from '../floor/bare-log.ts';
import { deliveredAs, factOf, storedAs } from '../floor/subjects.ts';
import type { Readings } from './figures.ts';
import { RUNS_PER_SECOND } from './steady-rate.ts';

/** About as large as a fact. */
const MESSAGE = new Uint8Array(900);
/** As many as the connections over which runs are queued. */
const IN_FLIGHT = 64;

/** What the log alone takes of the times and the processors that runs take, whatever the services do. */
export const logFloor = async (
  request: BareLogRequest,
  { steadySeconds, runs }: { readonly steadySeconds: number; readonly runs: number },
): Promise<Readings> => ({
  ...(await twoInTurn(request, steadySeconds)),
  ...(await wholeRuns(request, runs)),
});

/**
 * Under the load of the open loop: the time for two messages that are stored one after the other, the second by a process that gets the
 * first. A run waits for as much between queued and started.
 */
const twoInTurn = async (request: BareLogRequest, seconds: number): Promise<Readings> => {
  await using log = await openBareLog(request, [{ from: 'queued', to: ['assigned'] }], 'assigned');
  // The first second is slower: code that has just been loaded.
  const times = await storeTwice(log.broker, RUNS_PER_SECOND * (1 + seconds));
  const measured = times.slice(RUNS_PER_SECOND);
  return { 'floor.log.p50': quantile(measured, 0.5), 'floor.log.p99': quantile(measured, 0.99) };
};

/** The milliseconds from the sending of each first message until its second one has come. */
const storeTwice = async (broker: NatsConnection, count: number): Promise<number[]> => {
  const sent: number[] = [];
  const times: number[] = [];
  broker.subscribe(deliveredAs('assigned'), {
    callback: (_, { subject }) => {
      times.push(performance.now() - (sent[Number(factOf(subject).run)] ?? 0));
    },
  });
  const began = performance.now();
  for (let run = 0; run < count; run += 1) {
    sent.push(performance.now());
    broker.publish(storedAs('queued', run), MESSAGE);
    await pause(Math.max(began + ((run + 1) * 1_000) / RUNS_PER_SECOND - performance.now(), 1));
  }
  await waitFor('the last message', () => times.length === count);
  return times;
};

/**
 * The four messages of a run, as fast as they come: this process stores the first one and gets all, as a gateway does; one stores the second
 * when it has the first, as a scheduler does; and one stores the last two when it has the second, as an executor does. Nobody parses,
 * decides, keeps or answers anything.
 */
const wholeRuns = async (request: BareLogRequest, runs: number): Promise<Readings> => {
  const scheduler = { from: 'queued', to: ['assigned'] };
  const executor = { from: 'assigned', to: ['started', 'ended'] };
  await using log = await openBareLog(request, [scheduler, executor], '>');
  await storeRuns(log.broker, Math.ceil(runs / 5));
  const [began, before] = [performance.now(), processorTime()];
  await storeRuns(log.broker, runs);
  const seconds = (performance.now() - began) / 1_000;
  return { 'floor.log.runs': runs / seconds, 'floor.log.cpu': (processorTime() - before) / runs };
};

/** Begins another run when one has ended. */
const storeRuns = async (broker: NatsConnection, count: number): Promise<void> => {
  let [begun, ended] = [0, 0];
  const begin = (): void => {
    if (begun === count) return;
    broker.publish(storedAs('queued', begun), MESSAGE);
    begun += 1;
  };
  const whole = Promise.withResolvers<void>();
  const following = broker.subscribe(deliveredAs('>'), {
    callback: (_, { subject }) => {
      if (factOf(subject).fact !== 'ended') return;
      ended += 1;
      begin();
      if (ended === count) whole.resolve();
    },
  });
  for (let n = 0; n < IN_FLIGHT; n += 1) begin();
  await whole.promise;
  following.unsubscribe();
};
