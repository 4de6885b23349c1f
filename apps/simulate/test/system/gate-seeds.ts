/** How many small plans the gate plays. They find every defect of `mutations`; each takes some 50 ms of one core. */
export const GATE_SEEDS = 500;
