import { DayFields, OverlapPolicy } from '@runledger/contracts/catalogue/schedules';
import type { Schedule } from '@runledger/contracts/http/catalogue/schedules';
import { Option, type Command } from 'commander';
import type { Client, CommandContext, Json } from '../command/command-context.ts';
import { deployments } from './deployments.ts';
import { listedSchedules, optionalId, addRecordDeletion, addRecordShow } from './named-records.ts';
import {
  changeRecord,
  createRecord,
  firstRows,
  listRecords,
  patchRecord,
  readRecord,
  type RecordKind,
} from './records.ts';
import { DEFAULT_LIMIT, type ListOptions } from '../command/list-pages.ts';
import { secondsOf } from '../command/option-values.ts';
import { EXIT, plain } from '../command/command-error.ts';
import { addSettingsOfRuns, queueSettingsOf, type QueueSettings } from '../runs/run-options.ts';
import { typesOfDeployment, givenInputs } from '../runs/run-inputs.ts';

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
    ['day fields', schedule.day_fields],
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
  readonly dayFields?: string;
  readonly overlap?: string;
  readonly catchUp?: string;
  readonly paused?: boolean;
  readonly gpu?: string;
  readonly webhook?: string;
  readonly webhookIntermediateStatus?: boolean;
  readonly input: readonly string[];
  readonly inputs?: string;
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
    .action(async ({ deployment, ...options }: ListOptions & { readonly deployment?: string }) => {
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
    const change = await fieldsOf(opened, options, given);
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
        new Option(
          '--day-fields <or|and>',
          'whether a day has to fit one of both day fields, or both; or by default',
        ).choices(DayFields.enum),
      )
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

const fieldsOf = async (client: Client, options: ScheduleOptions, given?: string) => {
  const deployment_id = await optionalId(client.call, deployments, options.deployment);
  const declared = async () =>
    typesOfDeployment(
      client,
      deployment_id ?? (await readRecord(client.call, schedules, given ?? '')).deployment_id,
    );
  return {
    name: options.name,
    deployment_id,
    cron: options.cron,
    time_zone: options.timeZone,
    day_fields: options.dayFields,
    overlap: options.overlap,
    catch_up_s: secondsOf('--catch-up', options.catchUp),
    paused: options.paused,
    inputs: await givenInputs(options, client, declared),
    gpu: options.gpu,
    ...queueSettingsOf(options),
    webhook: options.webhook,
    webhook_intermediate_status: options.webhookIntermediateStatus,
  };
};

type Outcome = Schedule['outcomes'][number];

/** What came of a time, such as `2026-05-01T09:00:00.000Z queued 01920000-…`. */
export const outcomeLine = ({ time, last_time, times, outcome, run_id, message }: Outcome): string => {
  const when = times === 1 ? time : `${time} to ${last_time}`;
  const count = times === 1 ? '' : ` ${times} times`;
  const run = run_id === null ? '' : ` ${run_id}`;
  return `${when} ${outcome}${count}${run}${message === null ? '' : `: ${message}`}`;
};
