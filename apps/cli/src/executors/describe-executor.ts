import type { Executor } from '@runledger/contracts/http/executors';
import { shorten } from '../output/plain-text.ts';
import type { Column, Rows } from '../output/table.ts';

const LONGEST_LIST = 60;

export const executorColumns: readonly Column<Executor>[] = [
  { title: 'NAME', width: 20, of: ({ name }) => name },
  { title: 'STATE', width: 12, is: 'status', of: ({ state }) => state },
  { title: 'BUSY/FREE', width: 20, of: (executor) => slotWords(executor) },
  { title: 'RUNS', width: 4, of: (executor) => String(busyIn(executor)).padStart(4) },
  { title: 'VERSION', width: 10, of: ({ software_version }) => software_version },
  { title: 'LAST HEARTBEAT', width: 24, is: 'time', of: ({ last_heartbeat_at }) => last_heartbeat_at },
  { title: 'MACHINES', width: 0, of: ({ machines }) => shorten(machines.join(','), LONGEST_LIST) },
];

const busyIn = ({ slots }: Pick<Executor, 'slots'>): number => slots.filter(({ run }) => run !== null).length;

/** Such as `A10G 1/1, H100 0/2`. */
const slotWords = ({ slots }: Executor): string | null => {
  const models = [...new Set(slots.map(({ gpu }) => gpu))];
  const words = models.map((gpu) => {
    const ofModel = slots.filter((slot) => slot.gpu === gpu);
    const busy = busyIn({ slots: ofModel });
    return `${gpu} ${busy}/${ofModel.length - busy}`;
  });
  return words.length === 0 ? null : words.join(', ');
};

/** One executor, a row for each member and slot. */
export const executorRows = (executor: Executor): Rows => {
  const { drain, machines, machine_count, programs, program_count } = executor;
  return [
    ['name', executor.name],
    ['id', executor.executor_id],
    ['state', executor.state, 'status'],
    ['drained', drain && `${drain.requested_at} with the key ${drain.requested_by}`],
    ['version', executor.software_version],
    ['isolation', executor.isolation],
    ['network', executor.network],
    ['limits', executor.limits],
    ['since', executor.registered_at, 'time'],
    ['last heartbeat', executor.last_heartbeat_at, 'time'],
    ['machines', namesIn(machines, machine_count)],
    ['programs', namesIn(programs, program_count)],
    ['labels', namesIn(executor.labels, executor.labels.length)],
    ...executor.slots.map(slotRow),
  ];
};

const namesIn = (names: readonly string[], count: number): string | null => {
  if (names.length === 0) return null;
  const more = count - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
};

const slotRow = ({
  slot,
  gpu,
  loaded_workflow_version_id: loaded,
  run,
}: Executor['slots'][number]): readonly [string, string] => [
  `slot ${slot}`,
  `${gpu}, ${run === null ? 'free' : runWords(run)}${loaded === null ? '' : `; has workflow version ${loaded} loaded`}`,
];

const runWords = ({
  run_id,
  org_id,
  attempt,
  assigned_at,
  placement,
}: NonNullable<Executor['slots'][number]['run']>): string =>
  [
    `run ${run_id} of organisation ${org_id}, attempt ${attempt} since ${assigned_at}`,
    ...(placement === null ? [] : [placement.sentence]),
  ].join(', ');
