import { describe, expect, it } from 'vitest';
import { aFolder } from '../fixtures/config-folder.ts';
import { runCli } from '../fixtures/run-cli.ts';

describe('runledger cluster migrate', () => {
  it.each([
    [['--back', '--confirm'], 'Use --back or --confirm, not both.'],
    [['--discard-newer'], '--discard-newer is a part of --back.'],
    [['--to-nkey-file', 'operator.nk'], 'needs the new brokers too: --to nats://'],
    [[], 'No broker was found.'],
  ])('says what is wrong with %j', async (options, message) => {
    expect(await runCli(['cluster', 'migrate', ...options], { cwd: aFolder().path })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  });
});
