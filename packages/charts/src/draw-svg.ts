import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, LegendComponent, MarkLineComponent, TitleComponent } from 'echarts/components';
import { init, use, type EChartsCoreOption } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { DARK, PAPER } from './palette.ts';

use([
  BarChart,
  CustomChart,
  LineChart,
  ScatterChart,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TitleComponent,
  SVGRenderer,
]);

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The same option gives the same text. It is for light pages, and for dark ones by the settings of the reader. */
export const drawSvg = (option: EChartsCoreOption, size: Size): string => {
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...size });
  try {
    chart.setOption({ animation: false, backgroundColor: PAPER, ...option });
    return forPages(chart.renderToSVGString());
  } finally {
    chart.dispose();
  }
};

/** Without what a page with scripts needs, and what counts all pictures of the process. */
const forPages = (svg: string): string => {
  const clips = new Map<string, string>();
  const clip = (id: string): string => {
    const known = clips.get(id) ?? `clip-${clips.size}`;
    clips.set(id, known);
    return known;
  };
  const plain = svg
    .replace(/<style >.*?<\/style>\n?/s, '')
    .replaceAll(/ (?:class|ecmeta_\w+|pointer-events)="[^"]*"/g, '')
    .replaceAll(/zr\d+-c\d+/g, clip);
  return `${plain.replace(/(<svg [^>]*>)/, `$1\n${DARK_STYLE}`).trimEnd()}\n`;
};

const DARK_STYLE = `<style>@media (prefers-color-scheme: dark) {${[...DARK]
  .map(([light, dark]) => ` [fill="${light}"] { fill: ${dark}; } [stroke="${light}"] { stroke: ${dark}; }`)
  .join('')} }</style>`;
