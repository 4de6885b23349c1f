/** The environment of the test run, which child processes inherit. The test harness reads it only here. */
export const environment = process.env;
