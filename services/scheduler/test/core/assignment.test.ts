import { describe, expect, it } from 'vitest';
import { executor, queued, stored, succeeded, cancelRequested, left, heartbeatOf, running } from './steps.ts';
import { given, ORG, type TestCapabilities, type RequestedRun } from './test-bed.ts';

const OTHER = '01920000-0000-7000-8000-0000000000ff';

describe('a queued run', () => {
  it('is assigned at once to a free slot of its GPU model', () =>
    expect(given(executor('box')).when(queued('one'))).toEqual(['one is assigned to box slot 0, attempt 1']));

  it('is assigned at the first heartbeat of an executor that can take it', () =>
    expect(given(queued('one'), (bed) => bed.register('box')).when(heartbeatOf('box'))).toEqual([
      'one is assigned to box slot 0, attempt 1',
    ]));

  it('waits while the executor has registered but sent no heartbeat yet', () =>
    expect(given((bed) => bed.register('box')).when(queued('one'))).toEqual([]));

  it('waits while every slot is busy, and takes the one that is freed by a success', () =>
    expect(given(...running('one', 'box'), queued('two')).when(succeeded('one'))).toEqual([
      'two is assigned to box slot 0, attempt 1',
    ]));

  it.each<[string, RequestedRun, TestCapabilities]>([
    ['of another GPU model', { gpu: 'H100' }, {}],
    ['that does not serve its machine', { machine: 'farm' }, { machines: ['studio'] }],
    ['that serves a machine of this name, but of another organisation', {}, { machines: [`${OTHER}/farm`] }],
    ['without its program', { program: 'train' }, {}],
    ['whose program is for another organisation', {}, { dedicated: { render: [OTHER] } }],
    ['without its label', { labels: ['nvlink'] }, { labels: ['zone:eu'] }],
    ['with only one of its labels', { labels: ['nvlink', 'zone:eu'] }, { labels: ['zone:eu'] }],
    ['whose program is for nobody', {}, { dedicated: { render: [] } }],
  ])('is not assigned to an executor %s', (_why, request, capabilities) =>
    expect(given(executor('box', capabilities)).when(queued('one', request))).toEqual([]),
  );

  it.each(['farm', '01920000-0000-7000-8000-000000000005', '*'])(
    'goes to an executor that serves its machine as %s',
    (machine) =>
      expect(given(executor('box', { machines: [machine] })).when(queued('one'))).toEqual([
        'one is assigned to box slot 0, attempt 1',
      ]),
  );

  it.each<[string, Record<string, string[]>]>([
    ['its organisation and another', { render: [OTHER, ORG] }],
    ['all, while another program is not', { train: [OTHER] }],
  ])('goes to an executor whose program is for %s', (_who, dedicated) =>
    expect(given(executor('box', { dedicated })).when(queued('one'))).toEqual([
      'one is assigned to box slot 0, attempt 1',
    ]),
  );

  it('goes to an executor that has all its labels, and others', () =>
    expect(
      given(executor('box', { labels: ['nvlink', 'zone:eu', 'big'] })).when(
        queued('one', { labels: ['zone:eu', 'nvlink'] }),
      ),
    ).toEqual(['one is assigned to box slot 0, attempt 1']));

  it('is not assigned to a draining executor', () =>
    expect(given(executor('box'), (bed) => bed.drain('box')).when(queued('one'))).toEqual([]));

  it('is never assigned after a cancel', () =>
    expect(given(queued('one'), cancelRequested('one')).when(executor('box'))).toEqual([]));
});

describe('runs of one deployment', () => {
  it('come in their order: a freed slot goes to the one that has waited longest', () =>
    expect(given(...running('one', 'box'), queued('two'), queued('three')).when(succeeded('one'))).toEqual([
      'two is assigned to box slot 0, attempt 1',
    ]));

  it('do not wait for one that no executor can take', () =>
    expect(given(queued('stuck', { program: 'train' }), queued('one')).when(executor('box'))).toEqual([
      'one is assigned to box slot 0, attempt 1',
    ]));

  it('keep their order across machines and programs of one GPU model', () =>
    expect(given(queued('one', { machine: 'studio' }), queued('two')).when(executor('box'))).toEqual([
      'one is assigned to box slot 0, attempt 1',
    ]));

  it('return to their position when they are requeued', () =>
    expect(
      given(
        executor('box'),
        queued('one'),
        stored,
        queued('two'),
        left('box'),
        stored, // one is requeued
      ).when(executor('other')),
    ).toEqual(['one is assigned to other slot 0, attempt 2']));

  it('fill every slot of an executor in order', () =>
    expect(
      given(queued('one'), queued('two'), queued('three')).when(
        executor('box', { gpus: ['A10G', 'H100', 'A10G'] }),
      ),
    ).toEqual(['one is assigned to box slot 0, attempt 1', 'two is assigned to box slot 2, attempt 1']));
});
