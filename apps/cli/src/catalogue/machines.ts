import { GPU_MODELS } from '@runledger/contracts/gpu';
import { Machine, MachinePage } from '@runledger/contracts/http/catalogue/machines';
import { runnerKindOf } from '@runledger/contracts/runners/runner-kinds';
import { Option } from 'commander';
import type { Command } from 'commander';
import { CommandError } from '../output/command-error.ts';
import type { Json, CommandContext } from '../command/command-context.ts';
import { addRecordCommands, addRecordList } from './record-commands.ts';
import { changeRecord, createRecord, firstRows, lastRows, listRecords } from './records.ts';
import type { RecordKind, RecordListOptions } from './records.ts';

const runnerWords = ({ runner }: Machine): string => runnerKindOf(runner).label(runner);

const machines: RecordKind<Machine> = {
  what: 'Machine',
  path: '/machines',
  send: (call, request) => call(Machine, request),
  readPage: async (call, request) => {
    const page = await call(MachinePage, request);
    return { ...page, items: page.machines };
  },
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    { title: 'GPU', width: 9, of: ({ gpu }) => gpu },
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
  nameOf: ({ name }) => name,
};

interface MachineOptions extends Json {
  readonly name?: string;
  readonly gpu?: string;
  readonly type?: string;
  readonly program?: string;
  readonly comfyui?: string | true;
}

/** The machines of an organisation. */
export const addMachineCommands = (program: Command, parts: CommandContext): void => {
  const { client, end, add } = parts;
  const group = program.command('machines').description('kinds of hosts that runs execute on');
  addRecordList(parts, group, { name: 'list', description: 'list machines, newest first' }).action(
    async (options: RecordListOptions) => end(await listRecords(await client(), machines, options)),
  );
  addRecordCommands(parts, group, machines);
  addSettings(
    add(group, 'create', 'make a machine')
      .requiredOption('--name <name>', 'for people')
      .addOption(gpuOption().makeOptionMandatory()),
  ).action(async (options: MachineOptions) => {
    const runner = runnerOf(options);
    if (runner === undefined)
      throw new CommandError('No runner was given. Add --program NAME or --comfyui [URL].');
    const body = { ...fieldsOf(options), runner };
    end(await createRecord(await client(), machines, { body, json: options.json }));
  });
  addSettings(
    add(group, 'update <machine>', 'change a machine; queued runs keep their settings')
      .option('--name <name>', 'for people')
      .addOption(gpuOption()),
  ).action(async (id: string, options: MachineOptions) => {
    const change = { ...fieldsOf(options), runner: runnerOf(options) };
    end(await changeRecord(await client(), machines, { id, change, json: options.json }));
  });
};

const gpuOption = (): Option =>
  new Option('--gpu <model>', 'for runs and deployments without a GPU').choices(GPU_MODELS);

const addSettings = (command: Command): Command =>
  command
    .option('--type <word>', 'any word; the kind of the runner by default')
    .option('--program <name>', 'the program of the executor that runs execute')
    .option('--comfyui [url]', "execute with ComfyUI, at this URL or at the executor's setting");

const fieldsOf = ({ name, gpu, type }: MachineOptions) => ({ name, gpu, type });

const runnerOf = ({ program, comfyui }: MachineOptions): object | undefined => {
  if (program !== undefined && comfyui !== undefined)
    throw new CommandError('A machine has one runner. Use --program or --comfyui, not both.');
  if (program !== undefined) return { kind: 'program', program };
  if (comfyui === undefined) return undefined;
  return { kind: 'comfyui', url: comfyui === true ? undefined : comfyui };
};
