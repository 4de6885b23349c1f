import { drawSlots } from '../charts/slot-picture.ts';
import { drawTimes } from '../charts/time-picture.ts';
import type { PlayedRun } from '../statistics.ts';
import { barsOf, foreseenBars, FORESEEN_BARS, LOADING, slotSeries, waitPoints } from './picture-data.ts';
import {
  BURST,
  burst,
  burstInOneLine,
  DOCUMENTS,
  FORESEEN,
  foreseen,
  keyed,
  KEYED_SLOTS,
  LENT_SLOTS,
  lentAndTakenBack,
  limited,
  LIMITED_SLOTS,
  LISTED,
  listed,
  loadMs,
  prioritised,
  WARM,
  warm,
  weighed,
  WEIGHED_SLOTS,
} from './scenarios.ts';

const byOrganisation = ({ organisation }: PlayedRun): string => organisation;
const byDeployment = ({ deployment }: PlayedRun): string => deployment;

/** The pictures of docs/scheduling.md by the names of their files. Each is always the same. */
export const PICTURES: ReadonlyMap<string, () => string> = new Map([
  [
    'lent-slots.svg',
    () =>
      drawSlots({
        title: 'Slots that nobody else needs are lent, and taken back one by one',
        subtitle:
          'Each row is a slot, each bar a run. acme has 90 runs waiting; birch queues 20 at minute 12.',
        slots: LENT_SLOTS,
        untilMinutes: 60,
        names: ['acme', 'birch'],
        panels: [{ title: '', bars: barsOf(lentAndTakenBack(), byOrganisation) }],
      }),
  ],
  ['weights.svg', drawWeights],
  ['burst.svg', drawBurst],
  ['priority.svg', drawPriority],
  ['limits.svg', drawLimits],
  ['starts.svg', drawStarts],
  [
    'models.svg',
    () =>
      drawSlots({
        title: 'GPU models in order of preference',
        subtitle: `Upper rows: three L4, lower rows: three A10G. 24 runs that prefer L4 come at minute 2, and may take A10G ${LISTED.afterMinutes} minutes later.`,
        slots: LISTED.slots.length,
        untilMinutes: 20,
        names: LISTED.names,
        panels: [{ title: '', bars: barsOf(listed(), byDeployment) }],
      }),
  ],
  ['warm.svg', drawWarm],
  [
    'keys.svg',
    () =>
      drawSlots({
        title: 'One run at a time for each concurrency key',
        subtitle:
          '18 runs for three documents wait for their key, not for a slot; runs without a key take the others.',
        slots: KEYED_SLOTS,
        untilMinutes: 25,
        names: [...DOCUMENTS, 'no key'],
        panels: [{ title: '', bars: barsOf(keyed(), byDeployment) }],
      }),
  ],
]);

function drawWeights(): string {
  return drawTimes({
    title: 'Shares by weight',
    subtitle: 'Both organisations have more runs than slots. Runs take 1 to 3 minutes.',
    kind: 'stacked',
    values: { name: 'slots in use', max: WEIGHED_SLOTS },
    time: { unit: 'minutes', from: 0, to: 20 },
    panels: [1, 3].map((weight) => ({
      title: `weights ${weight} : 1`,
      series: slotSeries(weighed(weight), 20, byOrganisation),
    })),
  });
}

function drawBurst(): string {
  return drawTimes({
    title: `A burst of ${BURST.runs} runs, and a run each minute of somebody else`,
    subtitle: `Each point is a run of a minute on one of ${BURST.slots} slots.`,
    kind: 'points',
    values: { name: 'wait (minutes)', max: 60 },
    time: { unit: 'minutes', from: 0, to: 80 },
    panels: [
      { title: 'first come, first served', series: waitPoints(burstInOneLine(), byOrganisation) },
      { title: 'fair share', series: waitPoints(burst(), byOrganisation) },
    ],
  });
}

function drawPriority(): string {
  return drawTimes({
    title: 'Priority is a head start',
    subtitle:
      'One deployment with more runs than its 4 slots can take, for an hour. Each point is a run of 2 minutes.',
    kind: 'points',
    values: { name: 'wait (minutes)', max: 40 },
    time: { unit: 'minutes', from: 0, to: 60 },
    panels: [
      {
        title: '',
        series: prioritised().flatMap(({ priority, runs }) => waitPoints(runs, () => `priority ${priority}`)),
      },
    ],
  });
}

function drawLimits(): string {
  return drawTimes({
    title: 'A limit holds also when slots are idle',
    subtitle: 'acme queues 120 runs at once, birch one each half minute from minute 5 on.',
    kind: 'stacked',
    values: { name: 'slots in use', max: LIMITED_SLOTS },
    time: { unit: 'minutes', from: 0, to: 60 },
    panels: [
      { title: 'no limit', series: slotSeries(limited(), 60, byOrganisation) },
      { title: 'acme holds at most 4', series: slotSeries(limited(4), 60, byOrganisation) },
    ],
  });
}

function drawStarts(): string {
  const { slots, limit, waiting } = FORESEEN;
  return drawSlots({
    title: 'When waiting runs start, as they are told',
    subtitle: `Each row is one of the next ${waiting} runs of a deployment: the interval that it is told at minute 0, and its start.`,
    slots: waiting,
    rows: 'waiting runs',
    untilMinutes: 30,
    names: FORESEEN_BARS,
    panels: [
      { title: `${slots} slots`, bars: foreseenBars(foreseen()) },
      { title: `concurrency_limit ${limit}`, bars: foreseenBars(foreseen(limit)) },
    ],
  });
}

function drawWarm(): string {
  return drawSlots({
    title: 'Waiting for the slot that has it loaded',
    subtitle: `Each of two deployments queues a run of 1 to 2 minutes every 2 minutes; loading a version takes ${WARM.loadMinutes} more.`,
    slots: WARM.slots,
    untilMinutes: 45,
    names: [...WARM.names, LOADING],
    panels: [0, WARM.waitS].map((waitS) => ({
      title: `warm_wait_s ${waitS}`,
      bars: barsOf(warm(waitS), byDeployment, loadMs),
    })),
  });
}
