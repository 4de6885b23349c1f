import { GPU_MODELS } from '@runledger/contracts/gpu';
import { Machine, MachinePage } from '@runledger/contracts/http/machines';
import { Option } from 'commander';
import type { Command } from 'commander';
import { at } from '../api-call.ts';
import { Explained } from '../explained.ts';
import type { Json, ProgramParts } from '../program-parts.ts';
import {
  addRecordCommands,
  addRecordList,
  commonRows,
  givenChange,
  lastRows,
  listRecords,
  showRecord,
} from './record-commands.ts';
import type { RecordKind, RecordListOptions } from './record-commands.ts';

const runnerWords = ({ runner }: Machine): string => {
  switch (runner.kind) {
    case 'program':
      return `program ${runner.program}`;
    case 'comfyui':
      return runner.url ? `comfyui ${runner.url}` : 'comfyui';
  }
};

const machines: RecordKind<Machine> = {
  what: 'Machine',
  list: async (call, query) => {
    const page = await call(MachinePage, { method: 'GET', path: '/machines', query });
    return { items: page.machines, next_cursor: page.next_cursor };
  },
  read: (call, id) => call(Machine, { method: 'GET', path: at`/machines/${id}` }),
  change: (call, id, body) => call(Machine, { method: 'PATCH', path: at`/machines/${id}`, body }),
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    { title: 'GPU', width: 9, of: ({ gpu }) => gpu },
    { title: 'VERSION', width: 7, of: ({ version }) => version },
    { title: 'NAME', width: 24, of: ({ name }) => name },
    { title: 'RUNNER', width: 0, of: runnerWords },
  ],
  rows: (machine) => [
    ...commonRows(machine),
    ['gpu', machine.gpu],
    ['type', machine.type],
    ['runner', runnerWords(machine)],
    ['version', machine.version],
    ...lastRows(machine),
  ],
};

interface MachineOptions extends Json {
  readonly name?: string;
  readonly gpu?: string;
  readonly type?: string;
  readonly program?: string;
  readonly comfyui?: string | true;
}

/** The machines of an organisation. */
export const addMachineCommands = (program: Command, parts: ProgramParts): void => {
  const { client, end, add } = parts;
  const group = program.command('machines').description('kinds of hosts that runs execute on');
  addRecordList(parts, group, 'list', 'list machines, newest first').action(
    async (options: RecordListOptions) => {
      const { call, screen } = await client();
      end(await listRecords(screen, options, machines, (query) => machines.list(call, query)));
    },
  );
  addRecordCommands(parts, group, machines);
  addSettings(
    add(group, 'create', 'make a machine')
      .requiredOption('--name <name>', 'for people')
      .addOption(gpuOption().makeOptionMandatory()),
  ).action(async (options: MachineOptions) => {
    const runner = runnerOf(options);
    if (runner === undefined)
      throw new Explained('How it executes is not said. Add --program NAME or --comfyui [URL].');
    const body = { ...fieldsOf(options), runner };
    const { call, screen } = await client();
    const created = await call(Machine, { method: 'POST', path: '/machines', body });
    end(showRecord(screen, created, machines.rows, options.json));
  });
  addSettings(
    add(group, 'update <machine>', 'change a machine; runs that were queued keep what they were queued with')
      .option('--name <name>', 'for people')
      .addOption(gpuOption()),
  ).action(async (id: string, options: MachineOptions) => {
    const change = givenChange({ ...fieldsOf(options), runner: runnerOf(options) });
    const { call, screen } = await client();
    end(showRecord(screen, await machines.change(call, id, change), machines.rows, options.json));
  });
};

const gpuOption = (): Option =>
  new Option('--gpu <model>', 'for runs that name none, of deployments that name none').choices(GPU_MODELS);

const addSettings = (command: Command): Command =>
  command
    .option('--type <word>', 'a word of yours; the kind of the runner when left out')
    .option('--program <name>', "executes this one of the executor's own programs")
    .option('--comfyui [url]', "executes with ComfyUI, there or where the executor's settings say");

const fieldsOf = ({ name, gpu, type }: MachineOptions) => ({ name, gpu, type });

const runnerOf = ({ program, comfyui }: MachineOptions): object | undefined => {
  if (program !== undefined && comfyui !== undefined)
    throw new Explained('A machine has one way to execute: --program or --comfyui, not both.');
  if (program !== undefined) return { kind: 'program', program };
  if (comfyui === undefined) return undefined;
  return { kind: 'comfyui', url: comfyui === true ? undefined : comfyui };
};
