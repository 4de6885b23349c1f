import { useEffect, useRef, type ReactNode } from 'react';
import Plot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Schemas } from '../api/schemas.ts';
import { columnsOf } from './columns.ts';

const HEIGHT = 220;

interface ChartProps {
  readonly activity: Schemas['RunActivity'];
}

/** Lines over time. Their numbers are in its legend, at the time under the pointer. */
export const Chart = ({ activity }: ChartProps): ReactNode => {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const made = new Plot(optionsOf(element.clientWidth), EMPTY, element);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => {
    const times = activity.times.map((time) => Date.parse(time) / 1_000);
    plot.current?.setData([times, ...columnsOf(activity).map(({ values }) => [...values])]);
  }, [activity]);
  return <div ref={box} role="img" aria-label="Runs over time; the table below has the same numbers" />;
};

const NOTHING = {
  times: [],
  queued: [],
  started: [],
  succeeded: [],
  failed: [],
  timed_out: [],
  cancelled: [],
};
const COLUMNS = columnsOf({ ...NOTHING, waiting: [], running: [], since: '', until: '', step_s: 1 });
const EMPTY: Plot.AlignedData = [[], ...COLUMNS.map(() => [])];

/** Read when something is drawn, so that it follows the theme. */
const colour =
  (name: string): (() => string) =>
  () =>
    getComputedStyle(document.documentElement).getPropertyValue(name);

const optionsOf = (width: number): Plot.Options => {
  const axis: Plot.Axis = {
    stroke: () => getComputedStyle(document.body).color,
    grid: { width: 0.5, stroke: () => getComputedStyle(document.body).color },
  };
  return {
    width,
    height: HEIGHT,
    axes: [axis, { ...axis, size: 60 }],
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
    series: [
      {},
      ...COLUMNS.map(({ title, colour: name, dash }) => ({
        label: title,
        stroke: colour(name),
        dash: [...dash],
        width: 1.5,
        points: { show: false },
      })),
    ],
  };
};
