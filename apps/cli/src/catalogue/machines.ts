import { Machine, MachinePage } from '@runledger/contracts/http/catalogue/machines';
import { runnerKindOf, type Runner } from '@runledger/contracts/catalogue/runners';
import { Option, type Command } from 'commander';
import { CommandError } from '../command/command-error.ts';
import type { CommandContext } from '../command/command-context.ts';
import { addRecordCommands, addRecordList, namedKind } from './named-records.ts';
import {
  firstRows,
  lastRows,
  changeRecord,
  createRecord,
  listRecords,
  pagesOf,
  type RecordListOptions,
} from './records.ts';

const runnerWords = ({ runner }: Machine): string => runnerKindOf(runner).label(runner);

export const machines = namedKind<Machine>({
  what: 'Machine',
  path: '/machines',
  readPage: pagesOf(MachinePage, (page) => page.machines),
  send: (call, request) => call(Machine, request),
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    { title: 'GPU', width: 12, of: ({ gpu }) => gpu },
    { title: 'VERSION', width: 7, of: ({ version }) => version },
    { title: 'NAME', width: 24, of: ({ name }) => name },
    { title: 'RUNNER', width: 0, of: runnerWords },
  ],
  rows: (machine) => [
    ...firstRows(machine),
    ['gpu', machine.gpu],
    ['type', machine.type],
    ['runner', runnerWords(machine)],
    ['version', machine.version],
    ...lastRows(machine),
  ],
});

export interface RunnerOptions {
  readonly program?: string;
  readonly cog?: string;
  readonly comfyui?: string | true;
}

interface MachineOptions extends RunnerOptions {
  readonly name?: string;
  readonly gpu?: string;
  readonly type?: string;
}

/** The machines of an organisation. */
export const addMachineCommands = (program: Command, parts: CommandContext): void => {
  const { client, withClient, add } = parts;
  const group = program.command('machines').description('kinds of hosts that runs execute on');
  addRecordList(parts, group, { name: 'list', description: 'list machines, newest first' }).action(
    withClient(async (opened, options: RecordListOptions) => listRecords(opened, machines, options)),
  );
  addRecordCommands(parts, group, machines);
  addSettings(
    add(group, 'create', 'make a machine')
      .requiredOption('--name <name>', 'for people')
      .addOption(gpuOption().makeOptionMandatory()),
  ).action(async (options: MachineOptions) => {
    const runner = runnerOf(options);
    if (runner === undefined)
      throw new CommandError('No runner was given. Add --program NAME, --cog MODEL or --comfyui [URL].');
    await createRecord(await client(), machines, { ...fieldsOf(options), runner });
  });
  addSettings(
    add(group, 'update <machine>', 'change a machine; queued runs keep their settings')
      .option('--name <name>', 'for people')
      .addOption(gpuOption()),
  ).action(async (given: string, options: MachineOptions) => {
    const change = { ...fieldsOf(options), runner: runnerOf(options) };
    await changeRecord(await client(), machines, given, change);
  });
};

export const gpuOption = (): Option =>
  new Option('--gpu <model>', 'any model, such as RTX4090 or CPU, for runs and deployments without a GPU');

const addSettings = (command: Command): Command =>
  addRunnerOptions(command.option('--type <word>', 'any word; the kind of the runner by default'));

export const addRunnerOptions = (command: Command): Command =>
  command
    .option('--program <name>', 'the program of the executor that runs execute')
    .option('--cog <model>', 'the Cog model of the executor that runs execute')
    .option(
      '--comfyui [url]',
      "execute with ComfyUI; only with the executor's server at this URL, if you name one",
    );

const fieldsOf = ({ name, gpu, type }: MachineOptions) => ({ name, gpu, type });

/** The runner of the options; undefined without one. @throws CommandError */
export const runnerOf = ({ program, cog, comfyui }: RunnerOptions): Runner | undefined => {
  const chosen: Runner[] = [
    ...(program === undefined ? [] : [{ kind: 'program' as const, program }]),
    ...(cog === undefined ? [] : [{ kind: 'cog' as const, model: cog }]),
    ...(comfyui === undefined
      ? []
      : [{ kind: 'comfyui' as const, ...(comfyui === true ? {} : { url: comfyui }) }]),
  ];
  if (chosen.length > 1)
    throw new CommandError('A machine has one runner. Use only one of --program, --cog and --comfyui.');
  return chosen[0];
};
