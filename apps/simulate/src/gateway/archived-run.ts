import { recoveredView } from '@runledger/gateway/views/recovered-view.decide';
import type { StoredView } from '@runledger/gateway/views/run-view';
import type { LoggedMessage } from '../broker/run-log.ts';
import type { World } from '../broker/world.ts';
import type { Process } from '../virtual-time.ts';

type Archived = Pick<World, 'log' | 'archive'>;

/** As services/gateway/src/archive/archived-runs.ts: undefined when the archive has nothing of the run, or not enough. */
export const archivedRun = (
  world: Archived,
  run_id: string,
  present: StoredView | undefined,
): StoredView | undefined => {
  const archived = world.archive?.messagesOf(run_id) ?? [];
  if (archived.length === 0 || beginsWithRun(world.log.messagesOf(run_id))) return undefined;
  return recoveredView(present, { life: messagesOf(world, run_id), webhook: [] });
};

/** All that the archive and the log have of the run, in the order of the log. */
export const messagesOf = ({ log, archive }: Archived, run_id: string): LoggedMessage[] => {
  const all = [...(archive?.messagesOf(run_id) ?? []), ...log.messagesOf(run_id)];
  return [...new Map(all.map((message) => [message.sequence, message] as const)).values()];
};

const beginsWithRun = ([first]: readonly LoggedMessage[]): boolean => first?.expectedSequence === 0;

/** Reads the archive, if there is one. Undefined when it cannot be read. */
export const readArchive = <Answer>(
  { archive }: Pick<World, 'archive'>,
  process: Process,
  work: () => Answer,
  then: (answer: { readonly read: Answer } | undefined) => void,
): void => {
  if (!archive) return then({ read: work() });
  process.after(archive.delayMs(process.random.fraction()), () =>
    then(archive.isDown ? undefined : { read: work() }),
  );
};
