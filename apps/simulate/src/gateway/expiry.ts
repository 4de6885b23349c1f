import {
  isDeleted,
  isEnded,
  type ExecutingRun,
  type QueuedRun,
  type RunState,
} from '@runledger/contracts/fold/run';
import { areComplete } from '@runledger/gateway/views/projection-start.decide';
import {
  expiringBefore,
  isExpiring,
  runExpired,
  decideLost,
  type LostRun,
} from '@runledger/gateway/runs/facts/expiring.decide';
import type { World } from '../broker/world.ts';
import type { Process } from '../virtual-time.ts';
import { archivedRun, readArchive } from './archiver.ts';

const ASK_WITHIN_MS = 5_000;

/** As services/gateway/src/runs/facts/expire-run.ts, in virtual time: ends each run of the views that outlives the log. */
export const openExpiry = (
  world: World,
  process: Process,
  { everyMs }: { readonly everyMs: number },
): void => {
  const { broker, log, views } = world;
  const round = (): void =>
    broker.ask(
      process,
      ASK_WITHIN_MS,
      () => log.age,
      (age) => {
        const createdBefore = age ? expiringBefore(age).getTime() : 0;
        const expiring = views.open().filter(({ run }) => Date.parse(run.created_at) < createdBefore);
        let left = expiring.length;
        const done = (): void => {
          left -= 1;
          if (left <= 0) process.after(everyMs, round);
        };
        for (const { run } of expiring) expire(world, process, run, done);
        if (expiring.length === 0) done();
      },
    );
  process.after(everyMs, round);
};

const expire = (world: World, process: Process, { run_id }: RunState, done: () => void): void => {
  const { broker, log, newEventId } = world;
  readOrLost(world, process, run_id, (known) => {
    if (!known) return done();
    broker.ask(
      process,
      ASK_WITHIN_MS,
      () => log.age,
      (age) => {
        const { run, head, held } = known;
        if (!age || !isOpen(run) || !(held === 'nothing' || isExpiring(run, age, held === 'everything')))
          return done();
        const { org_id } = run;
        const writer = { service: 'gateway', instance: process.instance } as const;
        const event = runExpired(run, age, {
          event_id: newEventId(),
          org_id,
          run_id,
          time: broker.time,
          writer,
        });
        broker.ask(process, ASK_WITHIN_MS, () => log.append(event, head), done);
      },
    );
  });
};

const isOpen = (run: RunState): run is QueuedRun | ExecutingRun => !isEnded(run) && !isDeleted(run);

interface Known {
  readonly run: RunState;
  readonly head: number;
  readonly held: LostRun['held'] | 'everything';
}

/** As services/gateway/src/runs/facts/expire-run.ts, in the same order. */
const readOrLost = (
  world: World,
  process: Process,
  run_id: string,
  then: (known: Known | undefined) => void,
): void => {
  const { broker, log, views } = world;
  const readLog = () => ({ read: log.read(run_id), head: log.headOf(run_id) });
  broker.ask(process, ASK_WITHIN_MS, readLog, (found) => {
    if (!found) return then(undefined);
    const { read, head } = found;
    if (read.kind === 'whole' && read.history.state)
      return then({ run: read.history.state, head, held: 'everything' });
    broker.ask(
      process,
      ASK_WITHIN_MS,
      () => log.identity,
      (identity) => {
        if (!identity) return then(undefined);
        const held = head === 0 ? 'nothing' : 'a part';
        const areViewsComplete = areComplete(views.position, identity, log.orgOf(run_id));
        const view = views.find(run_id);
        readArchive(
          world,
          process,
          [log.orgOf(run_id)],
          () => (areViewsComplete ? archivedRun(world, run_id, view) : undefined),
          (answer) => {
            if (!answer) return then(undefined);
            const decision = decideLost({ held, head, areViewsComplete, view, archived: answer.read });
            if (decision.kind === 'recover') views.save([decision.view]);
            then(decision.kind === 'lost' ? { run: decision.view.run, head, held } : undefined);
          },
        );
      },
    );
  });
};
