import { DayFields, OverlapPolicy } from '@runledger/contracts/catalogue/schedules';
import { Option, type Command } from 'commander';
import type { Client, CommandContext } from '../command/command-context.ts';
import { deployments } from './deployments.ts';
import { schedules, optionalId, addRecordDeletion, addRecordShow } from './named-records.ts';
import { changeRecord, createRecord, listRecords, patchRecord, readRecord } from './records.ts';
import { DEFAULT_LIMIT, type ListOptions } from '../command/list-pages.ts';
import { secondsOf } from '../command/option-values.ts';
import { plain } from '../command/command-error.ts';
import { deploymentIn, queueSettingsOf, addSettingsOfRuns, type QueueSettings } from '../runs/run-options.ts';
import { typesOfDeployment, givenInputs, uploading } from '../runs/run-inputs.ts';

interface ScheduleOptions extends QueueSettings {
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
  const { withClient, add } = parts;
  const group = program
    .command('schedules')
    .description('runs of a deployment at the times of a cron expression');
  add(group, 'list', 'list schedules, newest first')
    .option('--deployment <deployment>', 'of one deployment')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(
      withClient(
        async (opened, { deployment, ...options }: ListOptions & { readonly deployment?: string }) => {
          const deployment_id = await optionalId(opened.call, deployments, deployment);
          await listRecords(opened, schedules, { ...options, filter: { deployment_id } });
        },
      ),
    );
  addRecordShow(parts, group, schedules);
  addSettings(
    add(group, 'create', 'queue runs of a deployment at the times of a cron expression')
      .requiredOption('--name <name>', 'for people')
      .requiredOption('--deployment <deployment>', 'what to run')
      .requiredOption('--cron <expression>', 'five fields, such as "0 9 * * MON-FRI", or @daily'),
  )
    .option('--paused', 'without times until it is resumed')
    .action(
      withClient(async (opened, options: ScheduleOptions) => {
        await createRecord(opened, schedules, await fieldsOf(opened, options));
      }),
    );
  addSettings(
    add(group, 'update <schedule>', 'change a schedule; queued runs keep what they have')
      .option('--name <name>', 'for people')
      .option('--deployment <deployment>', 'what to run')
      .option('--cron <expression>', 'five fields, such as "0 9 * * MON-FRI", or @daily'),
  ).action(
    withClient(async (opened, given: string, options: ScheduleOptions) => {
      await changeRecord(opened, schedules, given, await fieldsOf(opened, options, given));
    }),
  );
  addPausing(parts, group);
  addRecordDeletion(parts, group, schedules, 'delete a schedule; its runs go on');
};

const addPausing = ({ withClient, add }: CommandContext, group: Command): void => {
  const addOne = (name: string, description: string, paused: boolean): void => {
    add(group, `${name} <schedule>`, description).action(
      withClient(async ({ call, screen }, given: string) => {
        screen.result(await patchRecord(call, schedules, given, { paused }), ({ name: of, next_times }) =>
          paused
            ? `Schedule ${plain(of)} is paused.`
            : `Schedule ${plain(of)} is resumed. Next: ${next_times[0] ?? 'never'}`,
        );
      }),
    );
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
  const declared = async () =>
    typesOfDeployment(
      client,
      options.deployment ?? (await readRecord(client.call, schedules, given ?? '')).deployment_id,
    );
  return {
    name: options.name,
    ...(options.deployment !== undefined && deploymentIn(options.deployment)),
    cron: options.cron,
    time_zone: options.timeZone,
    day_fields: options.dayFields,
    overlap: options.overlap,
    catch_up_s: secondsOf('--catch-up', options.catchUp),
    paused: options.paused,
    inputs: await givenInputs(options, uploading(client), declared),
    gpu: options.gpu,
    ...queueSettingsOf(options),
    webhook: options.webhook,
    webhook_intermediate_status: options.webhookIntermediateStatus,
  };
};
