import { describe, expect, it } from 'vitest';
import { ownServices, type OwnSettings } from '../src/own-services.ts';

const settings: OwnSettings = {
  NATS_URL: 'nats://127.0.0.1:4222',
  RUNLEDGER_VIEWS: 'sqlite',
  MONGODB_URL: 'mongodb://127.0.0.1:27017/runledger',
  RUNLEDGER_OUTPUTS: 'jetstream',
  RUNLEDGER_ARCHIVE: 'jetstream',
};
const own = (changes: Partial<OwnSettings>, ...listening: string[]) =>
  ownServices({ ...settings, ...changes }, listening);

describe('the own services', () => {
  it('include the brokers, each with its port', () => {
    expect(own({})).toEqual(['127.0.0.1:4222']);
    expect(own({ NATS_URL: 'tls://me:secret@a.example, nats://[::1]:4333,b.example:4444' })).toEqual([
      'a.example:4222',
      '[::1]:4333',
      'b.example:4444',
    ]);
  });

  it.each([
    ['mongodb://127.0.0.1:27017/runledger', ['127.0.0.1:27017']],
    ['mongodb://me:p%40ss@a.example,b.example:27018', ['a.example:27017', 'b.example:27018']],
    ['mongodb://[::1],[::1]:1/x?y=z', ['[::1]:27017', '[::1]:1']],
    ['mongodb+srv://me:secret@cluster.example/runledger', ['cluster.example']],
    ['mongodb://%2Ftmp%2Fmongodb.sock', []],
  ])('are the hosts of %s, when it keeps the views', (MONGODB_URL, hosts) => {
    expect(own({ RUNLEDGER_VIEWS: 'mongodb', MONGODB_URL })).toEqual(['127.0.0.1:4222', ...hosts]);
    expect(own({ MONGODB_URL })).toEqual(['127.0.0.1:4222']);
  });

  it('include the store of output files or of the archive, by both names of its bucket, when it keeps them', () => {
    const bucket = {
      RUNLEDGER_OUTPUTS_S3_ENDPOINT: 'https://store.example',
      RUNLEDGER_OUTPUTS_S3_BUCKET: 'files',
    };
    expect(own({ ...bucket, RUNLEDGER_OUTPUTS: 's3' }).slice(1)).toEqual([
      'store.example:443',
      'files.store.example:443',
    ]);
    const here = { ...bucket, RUNLEDGER_OUTPUTS_S3_ENDPOINT: 'http://10.0.0.1:9000' };
    expect(own({ ...here, RUNLEDGER_OUTPUTS: 's3' })).toContain('10.0.0.1:9000');
    expect(own({ ...bucket, RUNLEDGER_ARCHIVE: 's3' })).toContain('store.example:443');
    expect(own(bucket)).toEqual(['127.0.0.1:4222']);
  });

  it('include the addresses of this process and the public URL', () => {
    const RUNLEDGER_PUBLIC_URL = 'https://runs.example/base';
    const listening = ['http://127.0.0.1:8080', 'http://[::]:9101'];
    expect(own({ RUNLEDGER_PUBLIC_URL }, ...listening).slice(1)).toEqual([
      '127.0.0.1:8080',
      '[::]:9101',
      'runs.example:443',
    ]);
  });
});
