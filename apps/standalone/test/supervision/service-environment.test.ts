import { expect, it } from 'vitest';
import { serviceEnvironment } from '../../src/supervision/service-environment.ts';

it('gives a service common variables and its settings, without other credentials', () => {
  const given = {
    PATH: '/bin',
    NODE_COMPILE_CACHE: '/compiled',
    AWS_SECRET_ACCESS_KEY: 'x',
    RUNLEDGER_API_KEY: 'x',
    RUNLEDGER_API_KEY_FILE: '/x',
    RUNLEDGER_NATS_URL: 'nats://x',
    RUNLEDGER_NATS_PASSWORD: 'x',
    RUNLEDGER_NATS_NKEY_FILE: '/x',
    RUNLEDGER_SECRET_KEYS: 'x',
    RUNLEDGER_SECRET_KEYS_FILE: '/x',
    RUNLEDGER_WEBHOOK_PROXY: 'http://user:x@proxy:3128',
    RUNLEDGER_LOG_LEVEL: 'debug',
    RUNLEDGER_PORT: '1',
    EXECUTOR_NAME: 'box',
    OTEL_TRACES_SAMPLER: 'always_off',
    NODE_OPTIONS: '--inspect',
  };
  expect(serviceEnvironment(given, ['RUNLEDGER_'], { RUNLEDGER_PORT: '2', NATS_PASSWORD: 'ours' })).toEqual({
    PATH: '/bin',
    NODE_COMPILE_CACHE: '/compiled',
    RUNLEDGER_LOG_LEVEL: 'debug',
    OTEL_TRACES_SAMPLER: 'always_off',
    RUNLEDGER_PORT: '2',
    NATS_PASSWORD: 'ours',
  });
});
