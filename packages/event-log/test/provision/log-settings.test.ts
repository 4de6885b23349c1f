import { describe, expect, it } from 'vitest';
import { DEFAULT_LOG_SETTINGS, logSettings, parseLogSettings } from '../../src/provision/log-settings.ts';

describe('the settings of the log', () => {
  it('are read from JSON, with defaults for those left out', () => {
    expect(parseLogSettings('{"runsMaxBytes": 1000000, "replicas": 3}')).toEqual({
      ...DEFAULT_LOG_SETTINGS,
      runsMaxBytes: 1_000_000,
      replicas: 3,
    });
    expect(parseLogSettings('{}')).toEqual(logSettings({}));
  });

  it.each(['', 'runsMaxBytes=1', '[1]', 'null', '7'])(
    'cannot be read from %j, and the error lists their names',
    (json) => {
      expect(() => parseLogSettings(json)).toThrow(
        /They are not a JSON object; the settings are: replicas, runsMaxBytes/,
      );
    },
  );

  it('with unknown names are refused', () => {
    expect(() => parseLogSettings('{"runMaxBytes": 1, "__proto__": 2}')).toThrow(
      /Unknown settings: runMaxBytes/,
    );
  });

  it('keep inputs for at least twice the age of the log', () => {
    const keeping = (blobsMaxAgeMs: number) => ({ runsMaxAgeMs: 600_000_000, blobsMaxAgeMs });
    expect(logSettings(keeping(1_200_000_000))).toMatchObject(keeping(1_200_000_000));
    expect(() => logSettings(keeping(1_199_999_999))).toThrow(/blobsMaxAgeMs is too short/);
  });

  it.each(['outputs', 'fleet', 'deadLetters'])('keep %s for the age of the log', (what) => {
    expect(() => logSettings({ [`${what}MaxAgeMs`]: 7 * 86_400_000 - 1 })).toThrow(
      /do not fit together. .*MaxAgeMs.* is too short: 168 h are less than 168 h \(runsMaxAgeMs\)/,
    );
  });

  it.each([
    '{"runsMaxBytes": -1}',
    '{"runsMaxBytes": 1.5}',
    '{"runsMaxBytes": "1"}',
    '{"runsMaxAgeMs": 1000}',
  ])('with the impossible values %s are refused', (json) => {
    expect(() => parseLogSettings(json)).toThrow(/The log setting runsMax(Bytes|AgeMs) is /);
  });
});
