import { PROCESSES, SERVICES } from '../system/measured-standalone.ts';

/** A number that a round measures. */
export interface Figure {
  readonly title: string;
  readonly unit: 's' | 'ms' | '/s' | 'B' | 'KiB' | 'MiB' | '';
  /** Which of two values is better. */
  readonly better: 'more' | 'less';
}

const byProcess = (prefix: string, title: string, unit: Figure['unit']): [string, Figure][] =>
  PROCESSES.map((name) => [`${prefix}.${name}`, { title: `${title}: ${name}`, unit, better: 'less' }]);

const rate = (title: string): Figure => ({ title, unit: '/s', better: 'more' });
const time = (title: string): Figure => ({ title, unit: 'ms', better: 'less' });

/** All of them, in the order of the table, by a name that stays the same. */
export const FIGURES: ReadonlyMap<string, Figure> = new Map<string, Figure>([
  [
    'start',
    { title: 'from the start of the standalone to its first accepted run', unit: 's', better: 'less' },
  ],
  ...SERVICES.map((service): [string, Figure] => [
    `ready.${service}`,
    time(`from the start of a process to ready: ${service}`),
  ]),
  ['cli.help', time('runledger --help')],
  ['cli.help.cpu', time('  its processor time')],
  ['cli.get', time('runledger get RUN')],
  ['cli.get.cpu', time('  its processor time')],
  ['floor.post', rate('floor: POST to a bare Koa server')],
  ['floor.get', rate('floor: GET of a bare Koa server')],
  ['accept.off', rate('POST accepted, nothing executes')],
  ['accept.off.p50', time('  its time, p50')],
  ['accept.off.p99', time('  its time, p99')],
  ['accept.off.cpu', time('  its processor time')],
  ['accept.on', rate('POST accepted, executors at work')],
  ['accept.on.p50', time('  its time, p50')],
  ['accept.on.p99', time('  its time, p99')],
  ['floor.log.runs', rate('floor: the four messages of a run in a bare log')],
  ['runs', rate('completed runs')],
  ['floor.log.p50', time('floor: two messages, the second behind the first, in a bare log at 100/s, p50')],
  ['floor.log.p99', time('floor: two messages, the second behind the first, in a bare log at 100/s, p99')],
  ['started.p50', time('from queued to started at 100 runs/s, p50')],
  ['started.p99', time('from queued to started at 100 runs/s, p99')],
  ['visible.p50', time('from POST to the visible end at 100 runs/s, p50')],
  ['visible.p99', time('from POST to the visible end at 100 runs/s, p99')],
  ['get.ended', rate('GET of ended runs')],
  ['get.ended.p50', time('  its time, p50')],
  ['get.ended.p99', time('  its time, p99')],
  ['get.live', rate('GET of live runs')],
  ['streams', { title: 'event streams held at once', unit: '', better: 'more' }],
  ['streams.memory', { title: '  memory of the gateway for each', unit: 'KiB', better: 'less' }],
  ['disk', { title: 'bytes on disk of a completed run', unit: 'B', better: 'less' }],
  ['floor.log.cpu', time('floor: processor time of the four messages of a run in a bare log')],
  ['cpu', time('processor time of a completed run')],
  ...byProcess('cpu', '  of it', 'ms'),
  ['memory', { title: 'memory after these runs', unit: 'MiB', better: 'less' }],
  ...byProcess('memory', '  of it', 'MiB'),
]);

/** What a round measured, by the names of the figures. */
export type Readings = Readonly<Record<string, number>>;
