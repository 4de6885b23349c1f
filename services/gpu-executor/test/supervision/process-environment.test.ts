import { describe, expect, it } from 'vitest';
import { readExecutorConfig } from '../../src/config.ts';
import { fairThreads, hostEnvironment } from '../../src/supervision/process-environment.ts';

const NPM =
  '/srv/app/node_modules/.bin:/srv/node_modules/.bin:/node_modules/.bin:/usr/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin';

describe('the PATH of programs', () => {
  it.each([
    ['has nothing that npm puts before it', `${NPM}:/opt/tools:/usr/bin`, '/opt/tools:/usr/bin'],
    ['nor what npm puts there within npm', `${NPM}:${NPM}:/usr/bin`, '/usr/bin'],
    [
      'keeps the folders of packages that its user puts there',
      '/srv/mine/node_modules/.bin:/usr/bin',
      '/srv/mine/node_modules/.bin:/usr/bin',
    ],
    ['keeps those behind what npm puts there', `${NPM}:/a/node_modules/.bin`, '/a/node_modules/.bin'],
    ['may be empty', '', ''],
  ])('%s', (_, given, expected) => {
    expect(readExecutorConfig({ PATH: given }).PATH).toBe(expected);
  });
});

describe('the threads of numerical libraries', () => {
  it.each([
    ['are shared by the slots', { cores: 16, slots: 4, cpus: undefined }, '4'],
    ['are at least one', { cores: 2, slots: 8, cpus: undefined }, '1'],
    ['are no more than the processors that a program may keep busy', { cores: 16, slots: 2, cpus: 1.5 }, '2'],
    [
      'are left to the library where one slot has all processors',
      { cores: 16, slots: 1, cpus: undefined },
      undefined,
    ],
  ])('%s', (_, given, expected) => {
    expect(fairThreads(given)).toBe(expected);
  });

  it('are what the environment of the executor says', () => {
    expect(hostEnvironment(readExecutorConfig({ OMP_NUM_THREADS: '7' }), 4).OMP_NUM_THREADS).toBe('7');
  });
});

describe('the time zone of programs', () => {
  it('is that of the executor', () => {
    expect(hostEnvironment(readExecutorConfig({ TZ: 'Asia/Tokyo' }), 1).TZ).toBe('Asia/Tokyo');
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    expect(hostEnvironment(readExecutorConfig({}), 1).TZ).toBe(timeZone);
  });
});
