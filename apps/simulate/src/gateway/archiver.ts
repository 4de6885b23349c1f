import type { ArchiveStore } from '../broker/stores.ts';
import type { LoggedMessage } from '../broker/run-log.ts';
import type { World } from '../broker/world.ts';
import type { Process } from '../virtual-time.ts';

const ASK_WITHIN_MS = 5_000;
/** As services/gateway/src/archive/archive-round.ts. */
const MOST_OF_LOG_AGE = 1 / 8;

type ArchivingWorld = Pick<World, 'broker' | 'log'> & { readonly archive: ArchiveStore };

interface ArchiverOptions {
  readonly process: Process;
  readonly archiveAfterMs: number;
}

interface Gathered {
  readonly revision: number;
  readonly upTo: number;
  readonly messages: readonly LoggedMessage[];
}

/** Archives what is old enough, range by range: it reads a range, claims it, stores it, and only then the archive has it. */
export const openArchiver = (world: ArchivingWorld, options: ArchiverOptions): void => {
  const { broker, archive } = world;
  const { process, archiveAfterMs } = options;
  const ask = <Answer>(work: () => Answer | undefined, then: (answer: Answer) => void): void =>
    broker.ask(process, ASK_WITHIN_MS, work, (answer) => {
      if (answer === undefined) process.after(archiveAfterMs, round);
      else then(answer);
    });
  const round = (): void =>
    ask(
      () => gather(world, archiveAfterMs),
      ({ upTo, revision, messages }) =>
        ask(
          () => archive.claim(upTo, revision),
          (claim) =>
            process.after(archive.delayMs(process.random.fraction()), () => {
              if (archive.isDown) return process.after(archiveAfterMs, round);
              ask(() => (archive.seal(claim, messages), true), round);
            }),
        ),
    );
  process.after(archiveAfterMs, round);
};

/** Undefined when nothing else is old enough. */
const gather = ({ log, archive }: ArchivingWorld, archiveAfterMs: number): Gathered | undefined => {
  const { now, maxAgeMs } = log.age;
  const afterMs = Math.min(archiveAfterMs, maxAgeMs * MOST_OF_LOG_AGE);
  archive.passLost(log.identity.firstSequence);
  const { sequence, revision, claimed } = archive.position;
  const ageOf = ({ time }: { readonly time: string }): number => now - Date.parse(time);
  const first = log.nextFrom(sequence + 1);
  if (claimed === undefined && (!first || ageOf(first) < 2 * afterMs)) return undefined;
  const messages: LoggedMessage[] = [];
  let upTo = claimed ?? sequence;
  for (let next = first; next && isInRange(next.sequence, ageOf(next)); next = log.at(next.sequence + 1)) {
    if ('key' in next) messages.push(next);
    upTo = next.sequence;
  }
  return { revision, upTo: claimed ?? upTo, messages };

  function isInRange(at: number, ageMs: number): boolean {
    return claimed === undefined ? ageMs >= afterMs : at <= claimed;
  }
};
