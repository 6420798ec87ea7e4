// Says what PromQL queries select, by Prometheus' own parser: a JSON array of queries on standard input, and an array with
// an answer for each on standard output.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
)

// Answer is what one query selects, or why it is not a query.
type Answer struct {
	Error     string     `json:"error"`
	Selectors []Selector `json:"selectors"`
	Groupings []Grouping `json:"groupings"`
}

// Selector is a metric, and the labels that its series must have.
type Selector struct {
	Metric   string    `json:"metric"`
	Matchers []Matcher `json:"matchers"`
}

// Matcher is a condition on a label: `=`, `!=`, `=~` or `!~`.
type Matcher struct {
	Label string `json:"label"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

// Grouping is a list of labels that an aggregation keeps, of the metrics in it and of what label_replace makes.
type Grouping struct {
	Labels  []string `json:"labels"`
	Metrics []string `json:"metrics"`
	Made    []string `json:"made"`
}

func main() {
	var queries []string
	if err := json.NewDecoder(os.Stdin).Decode(&queries); err != nil {
		log.Fatal(err)
	}
	answers := []Answer{}
	for _, query := range queries {
		answers = append(answers, read(query))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		log.Fatal(err)
	}
}

func read(query string) Answer {
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	answer := Answer{Selectors: selectors(expression)}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if aggregation, ok := node.(*parser.AggregateExpr); ok && !aggregation.Without {
			answer.Groupings = append(answer.Groupings, grouping(aggregation))
		}
		return nil
	})
	return answer
}

func selectors(expression parser.Node) []Selector {
	found := []Selector{}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if vector, ok := node.(*parser.VectorSelector); ok {
			selector := Selector{Metric: vector.Name, Matchers: []Matcher{}}
			for _, matcher := range vector.LabelMatchers {
				if matcher.Name != "__name__" {
					selector.Matchers = append(selector.Matchers, Matcher{matcher.Name, matcher.Type.String(), matcher.Value})
				}
			}
			found = append(found, selector)
		}
		return nil
	})
	return found
}

func grouping(aggregation *parser.AggregateExpr) Grouping {
	group := Grouping{Labels: append([]string{}, aggregation.Grouping...), Metrics: []string{}, Made: []string{}}
	for _, selector := range selectors(aggregation.Expr) {
		group.Metrics = append(group.Metrics, selector.Metric)
	}
	parser.Inspect(aggregation.Expr, func(node parser.Node, _ []parser.Node) error {
		if call, ok := node.(*parser.Call); ok && call.Func.Name == "label_replace" {
			group.Made = append(group.Made, call.Args[1].(*parser.StringLiteral).Val)
		}
		return nil
	})
	return group
}
