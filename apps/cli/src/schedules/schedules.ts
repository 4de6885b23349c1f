import { OverlapPolicy } from '@runledger/contracts/catalogue/schedules';
import type { Schedule } from '@runledger/contracts/http/catalogue/schedules';
import { Option } from 'commander';
import type { Command } from 'commander';
import type { Client } from '../api-client/client.ts';
import { deployments } from '../catalogue/deployments.ts';
import { listedSchedules } from '../catalogue/listed-schedules.ts';
import { optionalId } from '../catalogue/named-records.ts';
import { addRecordDeletion, addRecordShow } from '../catalogue/record-commands.ts';
import {
  changeRecord,
  createRecord,
  firstRows,
  listRecords,
  patchRecord,
  type RecordKind,
} from '../catalogue/records.ts';
import type { CommandContext, Json } from '../command/command-context.ts';
import { DEFAULT_LIMIT, type ListOptions } from '../command/list-pages.ts';
import { secondsOf } from '../options/numbers.ts';
import { EXIT } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import { addSettingsOfRuns, queueSettingsOf, type QueueSettings } from '../runs/queue-options.ts';
import { givenInputs } from '../runs/run-inputs.ts';
import { outcomeLine } from './outcome-line.ts';

const schedules: RecordKind<Schedule> = {
  ...listedSchedules,
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    {
      title: 'NEXT',
      width: 24,
      is: 'time',
      of: ({ paused, next_times }) => (paused ? 'paused' : (next_times[0] ?? null)),
    },
    { title: 'LAST', width: 8, is: 'status', of: ({ outcomes }) => outcomes[0]?.outcome ?? null },
    { title: 'CRON', width: 20, of: ({ cron }) => cron },
    { title: 'NAME', width: 0, of: ({ name }) => name },
  ],
  rows: (schedule) => [
    ...firstRows(schedule),
    ['deployment', schedule.deployment_id],
    ['cron', schedule.cron],
    ['time zone', schedule.time_zone],
    ['overlap', schedule.overlap],
    ['catch up', `${schedule.catch_up_s} s`],
    ['paused', schedule.paused ? 'yes' : null],
    ['inputs', JSON.stringify(schedule.inputs)],
    ['webhook', schedule.webhook],
    ['created', schedule.created_at, 'time'],
    ...schedule.next_times.map((time) => ['next', time, 'time'] as const),
    ...schedule.outcomes.map((outcome) => ['last', outcomeLine(outcome)] as const),
  ],
  nameOf: ({ name }) => name,
};

interface ScheduleOptions extends Json, QueueSettings {
  readonly name?: string;
  readonly deployment?: string;
  readonly cron?: string;
  readonly timeZone?: string;
  readonly overlap?: string;
  readonly catchUp?: string;
  readonly paused?: boolean;
  readonly gpu?: string;
  readonly webhook?: string;
  readonly webhookIntermediateStatus?: boolean;
  readonly input: readonly string[];
  readonly inputs?: string;
}

interface ScheduleListOptions extends ListOptions {
  readonly deployment?: string;
}

/** Runs of a deployment at the times of a cron expression. */
export const addScheduleCommands = (program: Command, parts: CommandContext): void => {
  const { client, end, add } = parts;
  const group = program
    .command('schedules')
    .description('runs of a deployment at the times of a cron expression');
  add(group, 'list', 'list schedules, newest first')
    .option('--deployment <deployment>', 'of one deployment')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(async ({ deployment, ...options }: ScheduleListOptions) => {
      const opened = await client();
      const deployment_id = await optionalId(opened.call, deployments, deployment);
      end(await listRecords(opened, schedules, { ...options, filter: { deployment_id } }));
    });
  addRecordShow(parts, group, schedules);
  addSettings(
    add(group, 'create', 'queue runs of a deployment at the times of a cron expression')
      .requiredOption('--name <name>', 'for people')
      .requiredOption('--deployment <deployment>', 'what to run')
      .requiredOption('--cron <expression>', 'five fields, such as "0 9 * * MON-FRI", or @daily'),
  )
    .option('--paused', 'without times until it is resumed')
    .action(async (options: ScheduleOptions) => {
      const opened = await client();
      const body = await fieldsOf(opened, options);
      end(await createRecord(opened, schedules, { body, json: options.json }));
    });
  addSettings(
    add(group, 'update <schedule>', 'change a schedule; queued runs keep what they have')
      .option('--name <name>', 'for people')
      .option('--deployment <deployment>', 'what to run')
      .option('--cron <expression>', 'five fields, such as "0 9 * * MON-FRI", or @daily'),
  ).action(async (given: string, options: ScheduleOptions) => {
    const opened = await client();
    const change = await fieldsOf(opened, options);
    end(await changeRecord(opened, schedules, { given, change, json: options.json }));
  });
  addPausing(parts, group);
  addRecordDeletion(parts, group, schedules, 'delete a schedule; its runs go on');
};

const addPausing = ({ client, end, add }: CommandContext, group: Command): void => {
  const addOne = (name: string, description: string, paused: boolean): void => {
    add(group, `${name} <schedule>`, description).action(async (given: string, { json = false }: Json) => {
      const { call, screen } = await client();
      const schedule = await patchRecord(call, schedules, { given, body: { paused } });
      if (json) screen.printJson(schedule);
      else if (paused) screen.print(`Schedule ${plain(schedule.name)} is paused.`);
      else
        screen.print(
          `Schedule ${plain(schedule.name)} is resumed. Next: ${schedule.next_times[0] ?? 'never'}`,
        );
      end(EXIT.done);
    });
  };
  addOne('pause', 'queue no runs until it is resumed', true);
  addOne('resume', 'queue runs again, from its next time on', false);
};

const addSettings = (command: Command): Command =>
  addSettingsOfRuns(
    command
      .option('--time-zone <name>', 'an IANA time zone, such as Europe/Berlin; UTC by default')
      .addOption(
        new Option('--overlap <policy>', 'while an earlier run has not ended; skip by default').choices(
          OverlapPolicy.enum,
        ),
      )
      .option('--catch-up <time>', 'how late a missed time is still made up for; 1h by default')
      .option(
        '--input <name=value>',
        'one input of its runs, with @PATH a file to upload; name[]=… adds an item to a list; can be repeated',
        (pair, all: string[]) => [...all, pair],
        [],
      )
      .option('--inputs <json>', 'all inputs as a JSON object, or a file with it; - is standard input')
      .option('--gpu <model>', "the GPU to run on; the deployment's by default")
      .option('--webhook <url>', 'URL for the notification of the end')
      .option('--webhook-intermediate-status', 'notify the webhook of progress too'),
  );

const fieldsOf = async (client: Client, options: ScheduleOptions) => ({
  name: options.name,
  deployment_id: await optionalId(client.call, deployments, options.deployment),
  cron: options.cron,
  time_zone: options.timeZone,
  overlap: options.overlap,
  catch_up_s: secondsOf('--catch-up', options.catchUp),
  paused: options.paused,
  inputs: await givenInputs(options, client),
  gpu: options.gpu,
  ...queueSettingsOf(options),
  webhook: options.webhook,
  webhook_intermediate_status: options.webhookIntermediateStatus,
});
