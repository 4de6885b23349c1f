import { joinRun, runToArchive } from '@runledger/gateway/archive/join.decide';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { recoveredView } from '@runledger/gateway/views/recovered-view.decide';
import type { StoredView } from '@runledger/gateway/views/run-view';
import type { ArchiveStore } from '../broker/stores.ts';
import type { LoggedMessage } from '../broker/run-log.ts';
import type { World } from '../broker/world.ts';
import type { Process } from '../virtual-time.ts';

const ASK_WITHIN_MS = 5_000;
/** As services/gateway/src/archive/archive-walk.ts. */
const MOST_OF_LOG_AGE = 1 / 8;
/** For each access to an object: ten seconds, for a log that keeps its messages for days. */
const ANSWER_WITHIN_MS = 2_000;
const PAGE = 32;

type Archived = Pick<World, 'log' | 'archive'>;

const lifeOf = (life: readonly StoredMessage[]) => ({ life, webhook: [] });

/** All that the archive and the log have of the run, as services/gateway/src/archive/join.decide.ts joins it. */
export const messagesOf = ({ log, archive }: Archived, run_id: string): readonly StoredMessage[] =>
  joinRun(lifeOf(log.messagesOf(run_id)), lifeOf(archive?.messagesOf(run_id) ?? [])).life;

/** As services/gateway/src/archive/archive.ts: undefined when the archive has nothing of the run, or not enough. */
export const archivedRun = (
  world: Archived,
  run_id: string,
  present: StoredView | undefined,
): StoredView | undefined => {
  const messages = messagesOf(world, run_id);
  const isArchived = messages.length > world.log.messagesOf(run_id).length;
  return isArchived ? recoveredView(present, lifeOf(messages)) : undefined;
};

/** Reads objects of these organisations, if there is an archive. Undefined when one cannot be read. */
export const readArchive = <Answer>(
  { archive }: Pick<World, 'archive'>,
  process: Process,
  org_ids: readonly string[],
  work: () => Answer,
  then: (answer: { readonly read: Answer } | undefined) => void,
): void => {
  if (!archive) return then({ read: work() });
  const delays = org_ids.map((org_id) => archive.delayMs(org_id, process.random.fraction()));
  process.after(Math.min(Math.max(0, ...delays), ANSWER_WITHIN_MS), () => {
    const isAway = org_ids.some((org_id) => archive.isDown(org_id));
    then(isAway || delays.some((ms) => ms > ANSWER_WITHIN_MS) ? undefined : { read: work() });
  });
};

type ArchivingWorld = Pick<World, 'broker' | 'log'> & { readonly archive: ArchiveStore };

/**
 * Goes through the log, and archives each run that it meets, in an object of its own. An organisation of which one cannot be archived falls
 * behind, the others go on, and it is caught up later.
 */
export const openArchiver = (
  world: ArchivingWorld,
  { process, archiveAfterMs }: { readonly process: Process; readonly archiveAfterMs: number },
): void => {
  const { broker, archive, log } = world;
  const again = (): void => process.after(archiveAfterMs, round);
  const ask = <Answer>(work: () => Answer | undefined, then: (answer: Answer) => void): void =>
    broker.ask(process, ASK_WITHIN_MS, work, (answer) => (answer === undefined ? again() : then(answer)));

  const archiveRun = (key: RunKey, then: (isDone: boolean) => void): void =>
    ask(
      () => log.messagesOf(key.run_id),
      (stored) =>
        readArchive(
          world,
          process,
          [key.org_id],
          () => archive.messagesOf(key.run_id),
          (before) => {
            if (!before) return then(false);
            const { life } = runToArchive(lifeOf(stored), lifeOf(before.read));
            const put = (): void => archive.put(key.run_id, life);
            readArchive(world, process, [key.org_id], put, (done) => then(done !== undefined));
          },
        ),
    );

  /** One run after the other. Then with the organisations of which one failed, each at its first failure. */
  const archiveAll = (
    page: readonly LoggedMessage[],
    then: (failed: ReadonlySet<string>) => void,
    failed: ReadonlySet<string> = new Set(),
  ): void => {
    const [first] = page;
    if (!first) return then(failed);
    const { key } = first;
    const rest = page.filter((one) => one.key.run_id !== key.run_id && !failed.has(one.key.org_id));
    archiveRun(key, (isDone) => archiveAll(rest, then, isDone ? failed : new Set([...failed, key.org_id])));
  };

  const round = (): void =>
    ask(
      () => duePage(world, archiveAfterMs),
      ({ page, upTo, revision }) => {
        if (upTo === archive.position.sequence) return catchUp([...archive.behind.keys()]);
        const isOpen = ({ key }: LoggedMessage): boolean => !archive.behind.has(key.org_id);
        archiveAll(page.filter(isOpen), (failed) =>
          ask(() => {
            for (const org_id of failed)
              archive.behind.set(org_id, page.find(({ key }) => key.org_id === org_id)?.sequence ?? upTo);
            return archive.moveTo(upTo, revision);
          }, round),
        );
      },
    );

  /** Those that are behind, one after the other, each up to where the others are. */
  const catchUp = ([org_id, ...others]: readonly string[]): void => {
    const from = org_id === undefined ? undefined : archive.behind.get(org_id);
    if (org_id === undefined || from === undefined) return again();
    const page = () =>
      pageFrom(world, from, archive.position.sequence).filter(({ key }) => key.org_id === org_id);
    ask(page, (found) =>
      archiveAll(found, (failed) =>
        ask(
          () => {
            if (failed.size === 0) archive.behind.delete(org_id);
            return true;
          },
          () => catchUp(others),
        ),
      ),
    );
  };
  again();
};

/** What is old enough behind the position. */
const duePage = (world: ArchivingWorld, archiveAfterMs: number) => {
  const { log, archive } = world;
  const { now, maxAgeMs } = log.age;
  const afterMs = Math.min(archiveAfterMs, maxAgeMs * MOST_OF_LOG_AGE);
  archive.passLost(log.identity.firstSequence);
  const { sequence, revision } = archive.position;
  let upTo = sequence;
  for (let next = log.nextFrom(sequence + 1); next; next = log.at(next.sequence + 1)) {
    if (now - Date.parse(next.time) < afterMs || next.sequence > sequence + PAGE) break;
    upTo = next.sequence;
  }
  return { page: pageFrom(world, sequence + 1, upTo), upTo, revision };
};

/** The messages of runs that the log still has. */
const pageFrom = ({ log }: Pick<World, 'log'>, from: number, upTo: number): LoggedMessage[] => {
  const page: LoggedMessage[] = [];
  for (let next = log.nextFrom(from); next && next.sequence <= upTo; next = log.at(next.sequence + 1))
    if ('key' in next) page.push(next);
  return page;
};
