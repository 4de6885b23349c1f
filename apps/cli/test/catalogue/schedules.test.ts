import { describe, expect, it } from 'vitest';
import { outcomeLine } from '../../src/catalogue/named-records.ts';
import { aCatalogue } from '../fixtures/real-catalogue.ts';

const { cli, json, aMachine, aWorkflow, publish, aTypedDeployment } = aCatalogue();

const aDeployment = async (name: string): Promise<{ readonly id: string }> => {
  const [machine, workflow] = [await aMachine(), await aWorkflow()];
  const version = await json(publish(workflow, '--file', '-'), { stdin: '{}' });
  const what = ['--name', name, '--version', version.id, '--machine', machine.id];
  return json(['deployments', 'create', ...what]);
};

describe('runledger schedules', () => {
  it('creates, lists, shows, changes, pauses, resumes and deletes a schedule', async () => {
    const deployment = await aDeployment('shop');
    const what = ['--name', 'report', '--deployment', 'shop', '--cron', '0 9 * * MON-FRI'];
    const more = [
      '--time-zone',
      'Europe/Berlin',
      '--day-fields',
      'and',
      '--overlap',
      'allow',
      '--catch-up',
      '2h',
    ];
    const run = ['--input', 'size=512', '--priority', '3', '--run-timeout', '15m'];
    const made = await json(['schedules', 'create', ...what, ...more, ...run]);
    expect(made).toMatchObject({
      deployment_id: deployment.id,
      cron: '0 9 * * MON-FRI',
      time_zone: 'Europe/Berlin',
      day_fields: 'and',
      overlap: 'allow',
      catch_up_s: 7_200,
      paused: false,
      inputs: { size: 512 },
      priority: 3,
      run_timeout_s: 900,
    });
    expect((await cli(['schedules', 'list', '--deployment', 'shop'])).stdout).toMatch(
      new RegExp(`^ID +NEXT +LAST +CRON +NAME\n${made.id}  \\S+Z  - +0 9 \\* \\* MON-FRI +report\n$`),
    );
    const shown = (await cli(['schedules', 'show', 'report'])).stdout;
    expect(shown).toContain(`deployment  shop  ${deployment.id}\n`);
    expect(shown).toContain('catch up    7200 s\n');
    expect(shown).toContain('inputs      {"size":512}\n');
    expect(shown.match(/^next {8}\S+Z$/gm)).toHaveLength(5);

    expect(await json(['schedules', 'update', 'report', '--deployment', 'shop@1'])).toMatchObject({
      deployment_id: deployment.id,
      workflow_version_id: expect.any(String),
    });
    expect(await json(['schedules', 'update', 'report', '--cron', '@daily'])).toMatchObject({
      cron: '@daily',
      overlap: 'allow',
    });
    expect((await cli(['schedules', 'pause', 'report'])).stdout).toBe('Schedule report is paused.\n');
    expect((await cli(['schedules', 'list'])).stdout).toContain('  paused ');
    expect((await cli(['schedules', 'resume', 'report'])).stdout).toMatch(
      /^Schedule report is resumed. Next: \S+Z\n$/,
    );
    expect((await cli(['schedules', 'delete', 'report'])).stdout).toBe('Schedule report is deleted.\n');
    expect(await cli(['schedules', 'list'])).toMatchObject({ stdout: '', stderr: 'There is no schedule.\n' });
  });

  it('has texts for inputs that are declared as texts', async () => {
    await aTypedDeployment('typed');
    const what = ['--name', 'typed', '--deployment', 'typed', '--cron', '@daily'];
    expect(await json(['schedules', 'create', ...what, '--input', 'prompt=1984'])).toMatchObject({
      inputs: { prompt: '1984' },
    });
    expect(await json(['schedules', 'update', 'typed', '--input', 'prompt=true'])).toMatchObject({
      inputs: { prompt: 'true' },
    });
  });

  it.each([
    [['--cron', '* * * *'], 'body.cron: '],
    [['--cron', '@daily', '--time-zone', 'BST'], 'such as Europe/London or Asia/Dhaka'],
    [['--cron', '@daily', '--overlap', 'always'], 'Allowed choices are skip, allow, cancel_other.'],
    [['--cron', '@daily', '--catch-up', 'soon'], '--catch-up soon is not a time.'],
  ])('refuses %j with a sentence', async (args, sentence) => {
    const what = ['--name', 'n', '--deployment', '01920000-0000-7000-8000-00000000000a'];
    expect(await cli(['schedules', 'create', ...what, ...args])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe('what came of a time', () => {
  const time = '2026-05-01T09:00:00.000Z';
  const last_time = '2026-05-01T09:05:00.000Z';
  const handled_at = last_time;
  it.each([
    [
      { time, last_time: time, times: 1, outcome: 'queued', run_id: 'r', message: null, handled_at },
      `${time} queued r`,
    ],
    [
      { time, last_time, times: 6, outcome: 'missed', run_id: null, message: 'Nobody.', handled_at },
      `${time} to ${last_time} missed 6 times: Nobody.`,
    ],
  ] as const)('is a line', (outcome, line) => expect(outcomeLine(outcome)).toBe(line));
});
